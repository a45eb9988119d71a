-- Makes sure there is a job for each shard, and that the groups want it.
--
-- KEYS[1]  the root
-- ARGV[1]  JSON: a list of {id, shard, priority, delay}; the id is for the job if it is new, the delay in µs
-- ARGV[2]  JSON: a list of groups
-- returns  how many jobs are new, or were cancelled and are pending again

local added, groups = 0, cjson.decode(ARGV[2])
stamp()
for _, new in ipairs(cjson.decode(ARGV[1])) do
  added = added + want(new, groups)
end
settle()
return added
