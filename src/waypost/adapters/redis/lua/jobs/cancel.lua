-- Pending and leased → cancelled, for some that only this group wants; it no longer wants the others either.
--
-- KEYS[1]  the root
-- ARGV[1]  group
-- ARGV[2]  how many at most
-- returns  {how many the group wanted, how many of them are cancelled now}

local group, room = ARGV[1], tonumber(ARGV[2])
local pool = ':' .. group
local found, cancelled = 0, 0

local function cancel(queue, id)
  local job = find(id)
  if not (job and is_unfinished(job)) then
    redis.call('ZREM', queue, id)
    return
  end
  cancel_for(job, group)
  if #job.groups == 0 then
    move(job, 'cancelled', now)
    cancelled = cancelled + 1
  end
end

-- The group's pool has all that it waits for, and nothing that has ended.
local function cancel_in(queue)
  local ids = redis.call('ZRANGE', queue, 0, room - found - 1)
  for _, id in ipairs(ids) do
    cancel(queue, id)
  end
  found = found + #ids
end

cancel_in(key('leased', pool))
for _, priority in ipairs(redis.call('ZRANGE', key('priorities', pool), 0, -1)) do
  if found < room then
    cancel_in(key('pending:', priority .. pool))
  end
end
settle()
return { found, cancelled }
