-- What every script of a budget begins with: the same arithmetic as in scaling/ratelimit/ledger.py, name by name. A test
-- compares the two step by step.
--
-- KEYS[1] is `{namespace:budget:provider}:key`; the part in braces decides where in a cluster it lives, and is itself
-- the key of what all keys of the provider share. Both hold an account, packed; they vanish when nobody asks for days.
-- ARGV[1] has, packed, the rules and what the caller heard from us last; answers are packed too: otherwise most of a
-- call's time would go into encoding them. Times are microseconds of this server's clock, which a double holds exactly.

local HORIZON = 400000
local HEARTBEAT = 500000
local GRACE = 250000
local LAST_CALL = 100000
local STEADY = 3000000
local MEMBER = 60000000
local FIRST_PAUSE = 5000000
local LONGEST_PAUSE = 600000000
local NOTEWORTHY = 0.9
local LEAP = 1048576
local KEPT_MILLISECONDS = 172800000

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

local given = cmsgpack.unpack(ARGV[1])
local spacings, floor, ceiling, recovery = unpack(given[1])

-- The short form, which turn/take.lua changes by itself: what it has is newer than what the account has.
local short_key = KEYS[1] .. ':short'
local short = redis.call('GET', short_key)

local function apply_short(account)
  local born, seq, seen, turns, _, _, last_turn = struct.unpack('<ddddddd', short)
  if born == account.born and seq > account.seq then
    account.seq, account.seen, account.turns, account.last_turn = seq, seen, turns, last_turn
    local count = #account.limits
    for index, name in ipairs(account.limits) do
      account.arrivals[name] = struct.unpack('<d', short, 73 + (index - 1) * 8)
      account.before_last[index] = struct.unpack('<d', short, 73 + (count + index - 1) * 8)
    end
  end
end

local function read(key)
  local packed = redis.call('GET', key)
  if not packed then
    return {
      born = 0, seq = 0, seen = 0, arrivals = {}, penalty = 0, quiet = 0, epoch = 0, pace = 1, paced_at = 0,
      refusals = 0, turns = 0, line = {}, members = {}, last_turn = 0, before_last = {}, limits = {},
    }
  end
  local found = cmsgpack.unpack(packed)
  if short and key == KEYS[1] then
    apply_short(found)
  end
  return found
end

local is_shared, evenly = false, 0
for _, spacing in ipairs(spacings) do
  is_shared = is_shared or spacing[4]
  if spacing[3] == 1 then
    evenly = math.max(evenly, spacing[2])
  end
end

local common_key = string.match(KEYS[1], '^%b{}')
local account = read(KEYS[1])
local common = is_shared and read(common_key)

local function record(spacing)
  return spacing[4] and common or account
end

local function get_arrivals()
  local arrivals = {}
  for index, spacing in ipairs(spacings) do
    arrivals[index] = record(spacing).arrivals[spacing[1]] or 0
  end
  return arrivals
end

local function set_arrivals(arrivals)
  for index, spacing in ipairs(spacings) do
    if arrivals[index] then
      record(spacing).arrivals[spacing[1]] = arrivals[index]
    end
  end
end

local function stop_until(time)
  if time > math.max(account.penalty, now) then
    account.penalty = time
    account.epoch = account.epoch + 1
  end
end

-- Moves all times back with a clock that stepped back.
local function follow_clock(each)
  local back = each.seen - now
  if back > 0 then
    for _, times in ipairs({ each.arrivals, each.members, each.before_last }) do
      for name, time in pairs(times) do
        times[name] = time - back
      end
    end
    each.penalty = each.penalty - back
    each.quiet = each.quiet - back
    each.paced_at = each.paced_at - back
    for _, waiting in ipairs(each.line) do
      waiting[3] = waiting[3] - back
    end
  end
  each.seen = now
end

-- This server was flushed, or went back in time, if a process knows more than we do.
local known_now, born, seq, epoch, pace, penalty, _, known_arrivals = unpack(given[2])

-- Returns a time that a process knows, no further ahead than it was then, whatever the clock did.
local function recall(time)
  return math.min(time, now + time - known_now)
end

local function mend()
  local is_behind = born < account.born or (born == account.born and seq > account.seq)
  if born > 0 and (account.born == 0 or is_behind) then
    local arrivals = {}
    for index, ours in ipairs(get_arrivals()) do
      arrivals[index] = known_arrivals[index] and math.max(ours, recall(known_arrivals[index]))
    end
    set_arrivals(arrivals)
    account.quiet = now + HORIZON + evenly
    account.epoch = math.max(account.epoch, epoch)
    account.pace = math.min(account.pace, pace)
    account.paced_at = now
    account.born, account.seq = born, math.max(account.seq, seq) + LEAP
    account.last_turn, account.before_last = 0, {}
  end
  if account.born == 0 then
    account.born, account.pace = now, ceiling
  end
  stop_until(recall(penalty))
end

follow_clock(account)
if common then
  follow_clock(common)
end
mend()
account.pace = math.min(math.max(account.pace, floor), ceiling)
account.seq = account.seq + 1

-- The last thing that a script does: keep the accounts, tell listeners of a new epoch, and say what is known now.
local epoch_before = account.epoch
local function write_short(kept, members)
  -- A caller that takes a turn the short way does not name its process, so at least one must be known.
  if is_shared or members == 0 or #account.line > 0 or account.penalty > now or account.quiet > now
    or account.refusals > 0 then
    if short then
      redis.call('DEL', short_key)
    end
    return
  end
  local after, before = '', ''
  for index, arrival in ipairs(get_arrivals()) do
    after = after .. struct.pack('<d', arrival)
    before = before .. struct.pack('<d', account.before_last[index] or 0)
  end
  local head = struct.pack('<ddddddddd', account.born, account.seq, account.seen, account.turns, account.epoch,
    account.pace, account.last_turn, members, given[1][5])
  redis.call('SET', short_key, head .. after .. before, 'PX', kept)
end

local function settle(answers)
  local kept = '172800000' -- as text, which is quicker
  if account.penalty > now then
    kept = string.format('%.0f', KEPT_MILLISECONDS + math.ceil((account.penalty - now) / 1000))
  end
  account.limits = {}
  for index, spacing in ipairs(spacings) do
    account.limits[index] = spacing[1]
  end
  redis.call('SET', KEYS[1], cmsgpack.pack(account), 'PX', kept)
  local members = 0
  for _ in pairs(account.members) do
    members = members + 1
  end
  write_short(kept, members)
  members = math.max(1, members)
  if common then
    redis.call('SET', common_key, cmsgpack.pack(common), 'PX', kept)
  end
  if account.epoch ~= epoch_before then
    redis.call('PUBLISH', KEYS[1], account.epoch)
  end
  -- In one list, because making many takes longer than the rest of this.
  local reply = { now, account.born, account.seq, account.epoch, account.pace, account.penalty, members }
  for index, spacing in ipairs(spacings) do
    reply[7 + index] = record(spacing).arrivals[spacing[1]] or 0
  end
  for _, each in ipairs(answers or {}) do
    reply[#reply + 1] = each
  end
  return cmsgpack.pack(reply)
end
