-- Dead or done → pending with no attempts counted, for those of these jobs that are; one that was done starts again.
--
-- KEYS[1]  the root
-- ARGV[1]  JSON: a list of ids
-- ARGV[2]  the status that they have
-- returns  how many were revived

local revived = 0
for _, id in ipairs(cjson.decode(ARGV[1])) do
  local job = find(id)
  if job and job.status == ARGV[2] then
    if job.status == 'done' then
      redis.call('HDEL', job.key, 'cursor')
    end
    move(job, 'pending', now, 'attempts', 0, 'failures', 0)
    revived = revived + 1
  end
end
settle()
return revived
