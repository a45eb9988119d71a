-- Turns for requests of one process: its name, whether requests succeeded, and turn, cost and longest wait of each.
-- Returns verdict, turn and time of each, in the order of the line.

local process, succeeded, requests = given[3], given[4], given[5]

if succeeded and now >= account.penalty and (account.refusals > 0 or account.pace < ceiling) then
  account.refusals = 0
  local step = math.min(math.max(0, now - account.paced_at), STEADY) / recovery
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

local function come_back(at)
  return math.min(now + math.max(HEARTBEAT, math.floor((at - now) / 3)), at - HORIZON)
end

local answers, ahead = {}, {}
local function answer(verdict, turn, at)
  local count = #answers
  answers[count + 1], answers[count + 2], answers[count + 3] = verdict, turn, at
end

-- Arrival times: now; once the callers who are here have had their turns; and once all have who stand ahead.
local free = get_arrivals()
local rest, arrivals = free, free

local function serve(waiting, request)
  local turn, cost = waiting[1], waiting[2]
  local at, after = slot(arrivals, cost)
  if request and at - now > request[3] then
    return answer('refused', turn, at)
  end
  arrivals = after
  local called, rest_after = slot(rest, cost)
  local call, is_near = called - LAST_CALL, at - now <= HORIZON
  if request and is_near and (#ahead == 0 or call <= now) then
    local first, used = slot(free, cost)
    account.last_turn, account.before_last = turn, free
    set_arrivals(used)
    free, rest = used, rest_after
    return answer('granted', turn, first)
  end
  if request then
    local again = is_near and math.min(call, ahead[#ahead][3] + 1) or come_back(at)
    waiting = { turn, cost, again + GRACE, is_near }
    answer('later', turn, again)
  end
  if waiting[4] then
    rest = rest_after
  end
  ahead[#ahead + 1] = waiting
end

for _, waiting in ipairs(line) do
  serve(waiting, wanted[waiting[1]])
end
account.line = ahead

return settle(answers)
