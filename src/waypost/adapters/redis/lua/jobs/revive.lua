-- Dead → pending with no attempts counted, for those of these jobs that are dead.
--
-- KEYS[1]  the root
-- ARGV[1]  JSON: a list of ids
-- returns  how many were revived

local revived = 0
for _, id in ipairs(cjson.decode(ARGV[1])) do
  local job = find(id)
  if job and job.status == 'dead' then
    move(job, 'pending', now, 'attempts', 0)
    revived = revived + 1
  end
end
settle()
return revived
