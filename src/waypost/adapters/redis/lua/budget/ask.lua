-- Turns for requests of one process. ARGV[3]: its name; ARGV[4]: '1' if requests succeeded; ARGV[5]: [turn, cost, max
-- wait] of each. Returns verdict, turn and time of each in turn.

if ARGV[4] == '1' and now >= account.penalty then
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
account.members[ARGV[3]] = now

local wanted, line = {}, {}
for _, asked in ipairs(cjson.decode(ARGV[5])) do
  local turn, cost, max_wait = asked[1], asked[2], asked[3]
  account.turns = math.max(account.turns + (turn == 0 and 1 or 0), turn)
  turn = turn ~= 0 and turn or account.turns
  if not wanted[turn] then
    line[#line + 1] = { turn, cost, 0 }
  end
  wanted[turn] = { cost, max_wait }
end
for _, waiting in ipairs(line) do
  waiting[2] = wanted[waiting[1]][1]
end
for _, waiting in ipairs(account.line) do
  if waiting[3] >= now and not wanted[waiting[1]] then
    line[#line + 1] = waiting
  end
end
table.sort(line, function(one, other) return one[1] < other[1] end)

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
  answers[#answers + 1] = verdict
  answers[#answers + 1] = turn
  answers[#answers + 1] = at
end

local arrivals = get_arrivals()
for _, waiting in ipairs(line) do
  local turn, request = waiting[1], wanted[waiting[1]]
  local at, after = slot(arrivals, waiting[2])
  if request and at - now > request[2] then
    answer('refused', turn, at)
  elseif request and #ahead == 0 and at - now <= HORIZON then
    account.last_turn, account.before_last = turn, arrivals
    set_arrivals(after)
    answer('granted', turn, at)
    arrivals = after
  else
    if request then
      local again = come_back(at, ahead[1])
      waiting[3] = again + GRACE
      answer('later', turn, again)
    end
    ahead[#ahead + 1] = waiting
    arrivals = after
  end
end
account.line = ahead

return settle(answers)
