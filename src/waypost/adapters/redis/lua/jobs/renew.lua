-- Extends leases whose fence is still current, even if they have expired.
--
-- KEYS[1]  the root
-- ARGV[1]  JSON: a list of {id, fence}
-- ARGV[2]  length of the lease from now, in µs
-- returns  the ids of the jobs that were kept

local lease_until = now + tonumber(ARGV[2])
local kept = {}
for _, lease in ipairs(cjson.decode(ARGV[1])) do
  local job = held(lease.id, lease.fence)
  if job then
    redis.call('HSET', job.key, 'lease_until', text(lease_until))
    for _, pool in ipairs(job.pools) do
      place(key('leased', pool), job.id, text(lease_until))
    end
    kept[#kept + 1] = job.id
  end
end
settle()
return kept
