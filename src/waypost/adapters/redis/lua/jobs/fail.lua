-- Leased → pending after a while, or → dead; the reason is kept.
--
-- KEYS[1]  the root
-- ARGV[1]  id
-- ARGV[2]  fence
-- ARGV[3]  JSON: what was counted, by name
-- ARGV[4]  code of the error
-- ARGV[5]  message of the error
-- ARGV[6]  µs until it is due again; missing when it is dead
-- returns  1, or 0 when the lease is lost

local job = held(ARGV[1], ARGV[2])
if not job then
  return 0
end
count(job, cjson.decode(ARGV[3]))
local status = ARGV[6] and 'pending' or 'dead'
move(job, status, now + tonumber(ARGV[6] or 0), 'failures', job.failures + 1, 'error_code', ARGV[4], 'error_message',
  ARGV[5], 'error_at', text(now))
settle()
return 1
