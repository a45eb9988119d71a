-- What every script of the job store begins with: the keys, the store's clock, and how a job moves between statuses.
--
-- KEYS[1] is the root, `{namespace}:jobs`. Every other key is the root with a suffix, so that all of a namespace share
-- one hash tag, hence one slot of a cluster. Times are microseconds of this server's clock, which a double holds
-- exactly. A script that fails half-way is not undone, so each looks first and writes afterwards.
--
--   <root>                        hash: layout, oldest_code
--   :fence                        string: the last fence given out
--   :shards                       hash: shard → id
--   :names                        sorted set, by name: shard \0 id, to find shards by how they begin
--   :ids, :ids:<status>           sorted sets, by name: ids, which are in the order of enqueueing
--   :ended:<status>               sorted set of ids by the time they ended: done, dead, cancelled
--   :job:<id>                     hash: the job, '' for nothing; what it counted in fields `counter:<name>`
--   :priorities<pool>             sorted set: the priorities that have pending jobs
--   :pending:<priority><pool>     sorted set of ids by the time they are due
--   :leased<pool>                 sorted set of ids by the end of their lease
--   :members:<group>              sorted set, by name: ids that the group wants, or wanted and has cancelled
--   :before:<group>               hash: id → what the job had counted when the group began to want it, if anything
--   :tally:<group>                hash: `status:<status>` → jobs, `counter:<name>` → counted since
--
-- A job's `groups` want it; those in `cancelled_by` did, and have cancelled. A pool is where one can claim from: '' is
-- the whole store, ':' and its name is a group that wants the job. What ended is in no pool, so that claiming does not
-- depend on how much is done.

local LAYOUT = 1

local root = KEYS[1]

local oldest_code = redis.call('HGET', root, 'oldest_code')
if oldest_code and tonumber(oldest_code) > LAYOUT then
  return redis.error_reply('TOONEW ' .. oldest_code)
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

-- What is written once at the end by `settle`, however many jobs a script moves: a call for each sorted set instead of
-- one for each job makes most of the difference in speed.
local places = {} -- key of a sorted set → member → score, or false when it leaves
local deltas = {} -- group → field of its tally → difference
local emptied = {} -- key of pending jobs that may be empty → { key of priorities, priority }
local woken = false -- whether a job became claimable

local function key(kind, rest)
  return root .. ':' .. kind .. (rest or '')
end

-- A time as text. A batch shares few times, and Redis takes long to write a double down.
local texts = {}
local function text(time)
  texts[time] = texts[time] or string.format('%.0f', time)
  return texts[time]
end

local function place(set, member, score)
  local members = places[set]
  if not members then
    members = {}
    places[set] = members
  end
  members[member] = score
end

local function stamp()
  redis.call('HSETNX', root, 'layout', LAYOUT)
  redis.call('HSETNX', root, 'oldest_code', LAYOUT)
end

local function bump(group, field, difference)
  deltas[group] = deltas[group] or {}
  deltas[group][field] = (deltas[group][field] or 0) + difference
end

local function pools_of(groups)
  local pools = { '' }
  for _, group in ipairs(groups) do
    pools[#pools + 1] = ':' .. group
  end
  return pools
end

local function find(id)
  local found = redis.call('HMGET', key('job:', id), 'status', 'shard', 'priority', 'fence', 'attempts',
    'attempts_total', 'cursor', 'owner', 'not_before', 'lease_until', 'groups', 'cancelled_by', 'failures')
  if not found[1] then
    return nil
  end
  local groups = found[11] and cjson.decode(found[11]) or {}
  return {
    id = id,
    key = key('job:', id),
    status = found[1],
    shard = found[2],
    priority = found[3],
    fence = tonumber(found[4]),
    attempts = tonumber(found[5]),
    attempts_total = tonumber(found[6]),
    failures = tonumber(found[13]),
    cursor = found[7],
    owner = found[8],
    not_before = tonumber(found[9]),
    lease_until = tonumber(found[10]),
    groups = groups,
    cancelled_by = found[12] and cjson.decode(found[12]) or {},
    pools = pools_of(groups),
  }
end

local function is_unfinished(job)
  return job.status == 'pending' or job.status == 'leased'
end

-- Counts a job into its status, or out of it, in the tallies of all its groups; a job that a group cancelled and others
-- go on with counts as cancelled for it.
local function tally(job, difference)
  for _, group in ipairs(job.groups) do
    bump(group, 'status:' .. job.status, difference)
  end
  for _, group in ipairs(job.cancelled_by) do
    bump(group, 'status:' .. (is_unfinished(job) and 'cancelled' or job.status), difference)
  end
end

-- Returns the job, but only for the holder of its current fence.
local function held(id, fence)
  local job = find(id)
  return job and job.status == 'leased' and job.fence == tonumber(fence) and job or nil
end

local function enter_pool(job, pool, at)
  if job.status == 'pending' then
    place(key('pending:', job.priority .. pool), job.id, text(at))
    place(key('priorities', pool), job.priority, job.priority)
  elseif job.status == 'leased' then
    place(key('leased', pool), job.id, text(at))
  end
end

-- Adds a job to the indexes of its status; `at` is when it is due, its lease ends, or it ended.
local function enter(job, at)
  place(key('ids:', job.status), job.id, 0)
  if is_unfinished(job) then
    for _, pool in ipairs(job.pools) do
      enter_pool(job, pool, at)
    end
    woken = woken or (job.status == 'pending' and at <= now)
  else
    place(key('ended:', job.status), job.id, text(at))
  end
  tally(job, 1)
end

local function leave_pool(job, pool)
  if job.status == 'pending' then
    local queue = key('pending:', job.priority .. pool)
    place(queue, job.id, false)
    emptied[queue] = { key('priorities', pool), job.priority }
  elseif job.status == 'leased' then
    place(key('leased', pool), job.id, false)
  end
end

local function leave(job)
  place(key('ids:', job.status), job.id, false)
  for _, pool in ipairs(job.pools) do
    leave_pool(job, pool)
  end
  if not is_unfinished(job) then
    place(key('ended:', job.status), job.id, false)
  end
  tally(job, -1)
end

-- Moves a job from its status to another; `at` as in `enter`; more fields and values to set may follow.
local function move(job, status, at, ...)
  leave(job)
  job.status = status
  if status == 'leased' then
    redis.call('HSET', job.key, 'status', status, 'lease_until', text(at), ...)
  elseif status == 'pending' then
    redis.call('HSET', job.key, 'status', status, 'not_before', text(at), 'owner', '', 'lease_until', '',
      'finished_at', '', ...)
  else
    redis.call('HSET', job.key, 'status', status, 'finished_at', text(at), 'owner', '', 'lease_until', '', ...)
  end
  enter(job, at)
end

local function count(job, counted)
  for name, number in pairs(counted) do
    if number ~= 0 then
      redis.call('HINCRBY', job.key, 'counter:' .. name, number)
      for _, groups in ipairs({ job.groups, job.cancelled_by }) do
        for _, group in ipairs(groups) do
          bump(group, 'counter:' .. name, number)
        end
      end
    end
  end
end

-- What a job has counted so far: a list of name, number, name, number; numbers as text.
local function counters_of(job)
  local counters = {}
  local record = redis.call('HGETALL', job.key)
  for at = 1, #record, 2 do
    if string.sub(record[at], 1, 8) == 'counter:' then
      counters[#counters + 1] = string.sub(record[at], 9)
      counters[#counters + 1] = record[at + 1]
    end
  end
  return counters
end

-- Removes a name from a list; returns whether it was there.
local function drop(names, name)
  for at, each in ipairs(names) do
    if each == name then
      table.remove(names, at)
      return true
    end
  end
  return false
end

local function note_groups(job)
  redis.call('HSET', job.key, 'groups', cjson.encode(job.groups), 'cancelled_by', cjson.encode(job.cancelled_by))
end

local function note_counters_before(job, group)
  local before = counters_of(job)
  if #before > 0 then
    redis.call('HSET', key('before:', group), job.id, cjson.encode(before))
  end
end

-- These groups want the job from here on, even those that had cancelled; a group that wants it already is left alone.
local function join(job, groups)
  local at = job.status == 'pending' and job.not_before or job.lease_until
  local joined = false
  tally(job, -1)
  for _, group in ipairs(groups) do
    local is_new = redis.call('ZADD', key('members:', group), 'NX', 0, job.id) == 1
    if drop(job.cancelled_by, group) or is_new then
      joined = true
      job.groups[#job.groups + 1] = group
      job.pools[#job.pools + 1] = ':' .. group
      enter_pool(job, ':' .. group, at)
      if is_new then
        note_counters_before(job, group)
      end
    end
  end
  tally(job, 1)
  if joined then
    note_groups(job)
  end
end

-- The group no longer wants the job, which leaves the group's pool.
local function cancel_for(job, group)
  tally(job, -1)
  drop(job.groups, group)
  drop(job.pools, ':' .. group)
  leave_pool(job, ':' .. group)
  job.cancelled_by[#job.cancelled_by + 1] = group
  tally(job, 1)
  note_groups(job)
end

local function add(new, groups)
  local job = {
    id = new.id,
    key = key('job:', new.id),
    status = 'pending',
    priority = string.format('%.0f', new.priority),
    groups = groups,
    cancelled_by = {},
    pools = pools_of(groups),
  }
  local due = now + new.delay
  redis.call('HSET', job.key, 'shard', new.shard, 'status', 'pending', 'priority', job.priority, 'not_before',
    text(due), 'created_at', text(now), 'fence', 0, 'attempts', 0, 'attempts_total', 0,
    'failures', 0)
  if #groups > 0 then
    redis.call('HSET', job.key, 'groups', cjson.encode(groups))
  end
  for _, group in ipairs(groups) do
    redis.call('ZADD', key('members:', group), 0, job.id)
  end
  redis.call('HSET', key('shards'), new.shard, job.id)
  place(key('names'), new.shard .. '\0' .. job.id, 0)
  place(key('ids'), job.id, 0)
  enter(job, due)
end

-- Makes sure there is a job for a shard, wanted by these groups; returns 1 if it is new or was cancelled.
local function want(new, groups)
  local id = redis.call('HGET', key('shards'), new.shard)
  local job = id and find(id)
  if not job then
    add(new, groups)
    return 1
  end
  join(job, groups)
  if job.status ~= 'cancelled' then
    return 0
  end
  move(job, 'pending', job.not_before, 'attempts', 0, 'failures', 0)
  return 1
end

-- No fence at or below this one will be given out.
local function lift_fences(above)
  if above > tonumber(redis.call('GET', key('fence')) or 0) then
    redis.call('SET', key('fence'), above)
  end
end

-- Buries a job whose workers stopped without a word too often in a row.
local function bury(job)
  move(job, 'dead', now, 'error_code', 'lease-expired', 'error_message',
    'its workers stopped without a word, again and again', 'error_at', text(now))
end

-- How many arguments fit into one call from Lua.
local MOST_ARGUMENTS = 4000

local function call_in_parts(command, set, arguments)
  for first = 1, #arguments, MOST_ARGUMENTS do
    redis.call(command, set, unpack(arguments, first, math.min(first + MOST_ARGUMENTS - 1, #arguments)))
  end
end

-- Writes what was placed into the sorted sets.
local function write_places()
  for set, members in pairs(places) do
    local added, removed = {}, {}
    for member, score in pairs(members) do
      if score then
        added[#added + 1] = score
        added[#added + 1] = member
      else
        removed[#removed + 1] = member
      end
    end
    call_in_parts('ZREM', set, removed)
    call_in_parts('ZADD', set, added)
  end
  places = {}
end

-- The last thing that a script which changed something does.
local function settle()
  write_places()
  for queue, entry in pairs(emptied) do
    if redis.call('EXISTS', queue) == 0 then
      redis.call('ZREM', entry[1], entry[2])
    end
  end
  for group, fields in pairs(deltas) do
    for field, difference in pairs(fields) do
      if difference ~= 0 then
        redis.call('HINCRBY', key('tally:', group), field, difference)
      end
    end
  end
  if woken then
    redis.call('PUBLISH', key('wake'), 'claimable')
  end
end
