-- Leases what is claimable: the expired first, then the pending that are due, by priority, due time and id.
--
-- KEYS[1]  the root
-- ARGV[1]  owner
-- ARGV[2]  how many at most
-- ARGV[3]  length of the lease, in µs
-- ARGV[4]  after how many attempts without progress an expired job goes dead
-- ARGV[5]  pool: '' or ':' and the name of a group
-- returns  a list of {id, shard, fence, attempts, cursor or nil, failures}

local owner, limit, pool = ARGV[1], tonumber(ARGV[2]), ARGV[5]
local lease_until, max_vanished = now + tonumber(ARGV[3]), tonumber(ARGV[4])
local before_now = '(' .. text(now)

-- How many expired jobs one call looks at for those to bury; the next call looks again.
local MOST_BURIED = 1000

for _, id in ipairs(redis.call('ZRANGEBYSCORE', key('leased'), '-inf', before_now, 'LIMIT', 0, MOST_BURIED)) do
  local attempts = redis.call('HGET', key('job:', id), 'attempts')
  if attempts and tonumber(attempts) >= max_vanished then
    bury(find(id))
  end
end

write_places()

local chosen = {}

-- A job whose record is gone (evicted by a server that was told to) must not stop all others for ever.
local function choose(queue, id)
  local job = find(id)
  if not job then
    redis.call('ZREM', queue, id)
  elseif job.status == 'leased' and job.attempts >= max_vanished then
    bury(job)
  else
    chosen[#chosen + 1] = job
  end
end

local function choose_from(queue, latest)
  local room = limit - #chosen
  if room > 0 then
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', queue, '-inf', latest, 'LIMIT', 0, room)) do
      choose(queue, id)
    end
  end
end

choose_from(key('leased', pool), before_now)
for _, priority in ipairs(redis.call('ZREVRANGE', key('priorities', pool), 0, -1)) do
  choose_from(key('pending:', priority .. pool), text(now))
end

local fences = 0
if #chosen > 0 then
  -- The clock as the floor: a Redis that lost its last second, or everything, gives out no fence for a second time.
  lift_fences(now)
  fences = redis.call('INCRBY', key('fence'), #chosen) - #chosen
end
local leases = {}
for number, job in ipairs(chosen) do
  local fence = fences + number
  move(job, 'leased', lease_until, 'owner', owner, 'fence', fence, 'attempts', job.attempts + 1, 'attempts_total',
    job.attempts_total + 1)
  leases[number] = { job.id, job.shard, fence, job.attempts + 1, job.cursor, job.failures }
end
settle()
return leases
