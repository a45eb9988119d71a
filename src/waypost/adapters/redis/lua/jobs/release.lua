-- Leased → pending after a while; attempts do not count, because their worker has not vanished.
--
-- KEYS[1]  the root
-- ARGV[1]  id
-- ARGV[2]  fence
-- ARGV[3]  JSON: what was counted, by name
-- ARGV[4]  µs until it is due again
-- ARGV[5]  code of what it waits for; missing when that is nothing
-- ARGV[6]  the same for people
-- returns  1, or 0 when the lease is lost

local job = held(ARGV[1], ARGV[2])
if not job then
  return 0
end
count(job, cjson.decode(ARGV[3]))
local said = {}
if ARGV[5] then
  said = { 'error_code', ARGV[5], 'error_message', ARGV[6], 'error_at', text(now) }
end
move(job, 'pending', now + tonumber(ARGV[4]), 'attempts', 0, unpack(said))
settle()
return 1
