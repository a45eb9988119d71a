-- Leased → pending after a while; the attempt does not count.
--
-- KEYS[1]  the root
-- ARGV[1]  id
-- ARGV[2]  fence
-- ARGV[3]  JSON: what was counted, by name
-- ARGV[4]  µs until it is due again
-- returns  1, or 0 when the lease is lost

local job = held(ARGV[1], ARGV[2])
if not job then
  return 0
end
count(job, cjson.decode(ARGV[3]))
move(job, 'pending', now + tonumber(ARGV[4]), 'attempts', math.max(0, job.attempts - 1))
settle()
return 1
