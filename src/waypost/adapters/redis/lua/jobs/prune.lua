-- Forgets jobs of one status that ended before a time, the oldest first, up to a number of them.
--
-- KEYS[1]  the root
-- ARGV[1]  status: done, dead or cancelled; others have no end, so nothing is found
-- ARGV[2]  the time, in µs
-- ARGV[3]  how many to look at
-- ARGV[4]  how the keys of their shards begin
-- ARGV[5]  how many of the oldest to pass over
-- returns  how many were looked at, and how many of them were forgotten

local function leave_group(job, group, counters)
  local before = {}
  local noted = redis.call('HGET', key('before:', group), job.id)
  if noted then
    local list = cjson.decode(noted)
    for at = 1, #list, 2 do
      before[list[at]] = tonumber(list[at + 1])
    end
  end
  for at = 1, #counters, 2 do
    local name = counters[at]
    bump(group, 'counter:' .. name, (before[name] or 0) - tonumber(counters[at + 1]))
  end
  redis.call('HDEL', key('before:', group), job.id)
  redis.call('ZREM', key('members:', group), job.id)
end

local function forget(job)
  leave(job)
  local counters = #job.groups + #job.cancelled_by > 0 and counters_of(job)
  for _, groups in ipairs({ job.groups, job.cancelled_by }) do
    for _, group in ipairs(groups) do
      leave_group(job, group, counters)
    end
  end
  redis.call('HDEL', key('shards'), job.shard)
  place(key('names'), job.shard .. '\0' .. job.id, false)
  place(key('ids'), job.id, false)
  redis.call('DEL', job.key)
end

local ended = key('ended:', ARGV[1])
local old = redis.call('ZRANGEBYSCORE', ended, '-inf', '(' .. ARGV[2], 'LIMIT', ARGV[5], ARGV[3])
local gone = 0
for _, id in ipairs(old) do
  local job = find(id)
  if not job then
    redis.call('ZREM', ended, id)
    gone = gone + 1
  elseif string.sub(job.shard, 1, #ARGV[4]) == ARGV[4] then
    forget(job)
    gone = gone + 1
  end
end
settle()
for group in pairs(deltas) do
  if redis.call('EXISTS', key('members:', group)) == 0 then
    redis.call('DEL', key('tally:', group))
  end
end
return { #old, gone }
