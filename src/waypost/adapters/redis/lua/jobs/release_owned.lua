-- Leased → pending, for those of these jobs that an owner holds.
--
-- KEYS[1]  the root
-- ARGV[1]  owner
-- ARGV[2]  JSON: a list of ids
-- returns  how many were released

local released = 0
for _, id in ipairs(cjson.decode(ARGV[2])) do
  local job = find(id)
  if job and job.status == 'leased' and job.owner == ARGV[1] then
    move(job, 'pending', job.not_before)
    released = released + 1
  end
end
settle()
return released
