-- Those of these jobs that fit a question, in the given order.
--
-- KEYS[1]  the root
-- ARGV[1]  JSON: a list of ids
-- ARGV[2]  status, or ''
-- ARGV[3]  how the shard begins
-- ARGV[4]  how many at most
-- ARGV[5]  group; missing for any
-- returns  a list of {id, {field, value, …}}

local status, prefix, limit, group = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local jobs = {}
for _, id in ipairs(cjson.decode(ARGV[1])) do
  if #jobs == limit then
    break
  end
  local found = redis.call('HMGET', key('job:', id), 'status', 'shard')
  if found[1] and (status == '' or status == found[1]) and string.sub(found[2], 1, #prefix) == prefix
    and (not group or redis.call('ZSCORE', key('members:', group), id)) then
    jobs[#jobs + 1] = { id, redis.call('HGETALL', key('job:', id)) }
  end
end
return jobs
