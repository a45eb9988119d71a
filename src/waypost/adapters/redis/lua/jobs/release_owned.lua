-- Leased → pending, for those of these jobs that an owner holds; or → dead, if they were begun too often in a row.
--
-- KEYS[1]  the root
-- ARGV[1]  owner
-- ARGV[2]  JSON: a list of ids
-- ARGV[3]  after how many attempts without progress a job goes dead
-- returns  how many were released

local released = 0
for _, id in ipairs(cjson.decode(ARGV[2])) do
  local job = find(id)
  if job and job.status == 'leased' and job.owner == ARGV[1] then
    if job.attempts >= tonumber(ARGV[3]) then
      bury(job)
    else
      move(job, 'pending', job.not_before)
    end
    released = released + 1
  end
end
settle()
return released
