-- Progress on a leased job: its cursor moves, and earlier attempts are forgiven.
--
-- KEYS[1]  the root
-- ARGV[1]  id
-- ARGV[2]  fence
-- ARGV[3]  JSON: what was counted, by name
-- ARGV[4]  the cursor; missing when there is none
-- returns  1, or 0 when the lease is lost

local job = held(ARGV[1], ARGV[2])
if not job then
  return 0
end
count(job, cjson.decode(ARGV[3]))
redis.call('HSET', job.key, 'attempts', 0, 'failures', 0)
if ARGV[4] then
  redis.call('HSET', job.key, 'cursor', ARGV[4])
else
  redis.call('HDEL', job.key, 'cursor')
end
settle()
return 1
