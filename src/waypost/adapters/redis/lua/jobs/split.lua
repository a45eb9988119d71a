-- Leased → done, and a pending job for each part, wanted by the groups that want the whole.
--
-- KEYS[1]  the root
-- ARGV[1]  id
-- ARGV[2]  fence
-- ARGV[3]  JSON: what was counted, by name
-- ARGV[4]  JSON: the parts, a list of {id, shard, priority, delay} as in enqueue
-- returns  1, or 0 when the lease is lost

local job = held(ARGV[1], ARGV[2])
if not job then
  return 0
end
count(job, cjson.decode(ARGV[3]))
move(job, 'done', now)
for _, new in ipairs(cjson.decode(ARGV[4])) do
  want(new, job.groups)
end
settle()
return 1
