-- A turn for one request when nothing else is the matter: nobody stands in the line, nobody was refused, nothing was
-- lost. Returns false if something is, and then budget/ask.lua decides. It does what ask.lua would do, in a third of the
-- time; a test compares them.
--
-- KEYS[1] is the short form of an account, which is there only while nothing is the matter: born, seq, seen, turns,
-- epoch, pace, last_turn, members and a checksum of the limits' names, then each limit's arrival time, then those before
-- the last turn. ARGV[1]: born, seq and checksum as the caller knows them, cost, longest wait, then interval and burst of
-- each limit. All of these are doubles.

local HORIZON = 400000
local HEAD, GIVEN, DOUBLE = 72, 40, 8

local short = redis.call('GET', KEYS[1])
if not short then
  return false
end
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local known_born, known_seq, known_limits, cost, max_wait = struct.unpack('<ddddd', ARGV[1])
local born, seq, seen, turns, epoch, pace, _, members, limits = struct.unpack('<ddddddddd', short)
if born ~= known_born or seq < known_seq or limits ~= known_limits or now < seen then
  return false
end

local count = (#ARGV[1] - GIVEN) / (2 * DOUBLE)
local at = now
for index = 0, count - 1 do
  local interval, burst = struct.unpack('<dd', ARGV[1], GIVEN + 1 + index * 2 * DOUBLE)
  local arrival = struct.unpack('<d', short, HEAD + 1 + index * DOUBLE)
  at = math.max(at, arrival - (burst - math.min(cost, burst)) * interval)
end
if at - now > max_wait or at - now > HORIZON then
  return false
end

local after = ''
for index = 0, count - 1 do
  local interval = struct.unpack('<d', ARGV[1], GIVEN + 1 + index * 2 * DOUBLE)
  local arrival = struct.unpack('<d', short, HEAD + 1 + index * DOUBLE)
  after = after .. struct.pack('<d', math.max(arrival, at) + cost * math.ceil(interval / pace))
end
local before = string.sub(short, HEAD + 1, HEAD + count * DOUBLE)
local head = struct.pack('<ddddddddd', born, seq + 1, now, turns + 1, epoch, pace, turns + 1, members, limits)
redis.call('SET', KEYS[1], head .. after .. before, 'KEEPTTL')
return struct.pack('<ddddddd', now, seq + 1, epoch, pace, members, turns + 1, at) .. after
