-- Turns for requests of one process: its name, whether requests succeeded, and turn, cost and longest wait of each.
-- Returns verdict, turn and time of each, in the order of the line.

local process, succeeded, requests = given[3], given[4], given[5]

if succeeded and now >= account.penalty and (account.refusals > 0 or account.pace < ceiling) then
  account.refusals = 0
  local step = math.min(math.max(0, now - account.paced_at), HORIZON) / recovery
  account.pace = math.min(ceiling, account.pace + step)
  account.paced_at = now
end

for name, seen in pairs(account.members) do
  if seen < now - MEMBER then
    account.members[name] = nil
  end
end
account.members[process] = now

local wanted, line = {}, {}
for _, asked in ipairs(requests) do
  local turn = asked[1]
  account.turns = math.max(account.turns + (turn == 0 and 1 or 0), turn)
  asked[1] = turn ~= 0 and turn or account.turns
  wanted[asked[1]] = asked
end
for _, asked in ipairs(requests) do
  if wanted[asked[1]] == asked then
    line[#line + 1] = asked
  end
end
for _, waiting in ipairs(account.line) do
  if waiting[3] >= now and not wanted[waiting[1]] then
    line[#line + 1] = waiting
  end
end
if #line > 1 then
  table.sort(line, function(one, other) return one[1] < other[1] end)
end

local function slot(arrivals, cost)
  local at = math.max(now, account.penalty, account.quiet)
  local after = {}
  for index, spacing in ipairs(spacings) do
    at = math.max(at, arrivals[index] - (spacing[3] - math.min(cost, spacing[3])) * spacing[2])
  end
  for index, spacing in ipairs(spacings) do
    after[index] = math.max(arrivals[index], at) + cost * math.ceil(spacing[2] / account.pace)
  end
  return at, after
end

local function come_back(at, first)
  local near = (at - HORIZON > now or not first) and at - HORIZON or first[3] + 1
  return math.min(now + math.max(HEARTBEAT, math.floor((at - now) / 2)), near)
end

local answers, ahead = {}, {}
local function answer(verdict, turn, at)
  local count = #answers
  answers[count + 1], answers[count + 2], answers[count + 3] = verdict, turn, at
end

local arrivals = get_arrivals()
for _, waiting in ipairs(line) do
  local turn, request = waiting[1], wanted[waiting[1]]
  local at, after = slot(arrivals, waiting[2])
  if request and at - now > request[3] then
    answer('refused', turn, at)
  elseif request and #ahead == 0 and at - now <= HORIZON then
    account.last_turn, account.before_last = turn, arrivals
    set_arrivals(after)
    answer('granted', turn, at)
    arrivals = after
  else
    if request then
      local again = come_back(at, ahead[1])
      waiting = { turn, waiting[2], again + GRACE }
      answer('later', turn, again)
    end
    ahead[#ahead + 1] = waiting
    arrivals = after
  end
end
account.line = ahead

return settle(answers)
