-- A number or an array in a select of its own hides its size from the planner, which then expects few rows and looks
-- them up one by one. With the size, and with statistics that are a minute old, it would rather sort all that is
-- pending, or read the whole index of the leased, with every entry that is dead since the last vacuum.
--
-- `status || ''` hides that index too. Statistics from an idle moment say that nothing is leased, so that reading all
-- of it for each of a thousand acknowledgements looks as cheap as a look-up by id.

-- add: a job for each shard that has none; waiting workers are notified, once
with wanted as materialized (
  select * from unnest($1::uuid[], $2::text[], $3::integer[], $4::float8[]) as wanted (id, shard, priority, delay)
),
added as (
  insert into jobs (id, shard, status, priority, not_before, created_at)
  select id, shard, 'pending', priority, now() + make_interval(secs => delay), now()
  from wanted
  -- Two processes that add the same shards lock them in the same order, and so never deadlock.
  order by shard
  on conflict (shard) do nothing
  returning not_before
)
select count(*) as added, case when bool_or(not_before <= now()) then pg_notify('waypost_jobs', '') end
from added;

-- add_again: cancelled ones are wanted again; after `add` and after joining, so that all lock in the same order
with cancelled as materialized (
  select id from jobs where shard = any($1::text[]) and status = 'cancelled'
  order by shard
  for no key update
),
again as (
  update jobs set status = 'pending', finished_at = null, attempts = 0, failures = 0
  where id = any(array(select id from cancelled))
  returning not_before
)
select count(*) as added, case when bool_or(not_before <= now()) then pg_notify('waypost_jobs', '') end
from again;

-- count_present: how many of these shards have a job
select count(*) as present from jobs where shard = any($1::text[]);

-- join_group: the group waits for the jobs from here on, even if it had cancelled
with wanted as materialized (
  -- Locked, because the reference to the job alone would not do for a group that is there already: a process that
  -- cancels the job comes before us, and our next statement makes it pending; or after us, and sees that we want it.
  select id, counters from jobs where shard = any($2::text[])
  order by id
  for key share
)
insert into job_groups (group_id, job_id, counters_before)
select $1, id, counters from wanted
order by id
on conflict (group_id, job_id) do update set cancelled = false where job_groups.cancelled;

-- inherit_groups: the parts of a job are wanted by the groups that want the whole
with parts as materialized (
  select id, counters from jobs where shard = any($2::text[])
  order by id
  for key share
)
insert into job_groups (group_id, job_id, counters_before)
select wanting.group_id, parts.id, parts.counters
from job_groups wanting, parts
where wanting.job_id = $1 and not wanting.cancelled
order by wanting.group_id, parts.id
on conflict (group_id, job_id) do update set cancelled = false where job_groups.cancelled;

-- hold_waited_for: some unfinished jobs that the group waits for, from an id on, except those that are being changed
select waiting.job_id as id
from job_groups waiting
-- The limit makes it a look-up for each; without it the planner may rather read all jobs there are.
cross join lateral (
  select from jobs
  where id = waiting.job_id and status || '' in ('pending', 'leased')
  limit 1
  -- Not only against those who change the job, but also against those who begin to want it.
  for update skip locked
) as unfinished
where waiting.group_id = $1 and waiting.job_id > $2 and not waiting.cancelled
order by waiting.job_id
limit $3
for update of waiting skip locked;

-- first_waited_for: an unfinished job that the group waits for
select waiting.job_id as id
from job_groups waiting
cross join lateral (
  select from jobs where id = waiting.job_id and status || '' in ('pending', 'leased') limit 1
) as unfinished
where waiting.group_id = $1 and not waiting.cancelled
order by waiting.job_id
limit 1;

-- await: the end of any change to the job, or to the group's wish for it
select from job_groups waiting join jobs on jobs.id = waiting.job_id
where waiting.group_id = $1 and waiting.job_id = $2
for update;

-- leave: the group no longer waits for these jobs
update job_groups set cancelled = true where group_id = $1 and job_id = any((select $2::uuid[])::uuid[]);

-- cancel: those of these jobs that no group waits for
with cancelled as (
  update jobs
  set status = 'cancelled', lease_owner = null, lease_until = null, finished_at = now()
  where id = any((select $1::uuid[])::uuid[])
    and not exists (select from job_groups where job_id = jobs.id and not cancelled)
  returning id
)
select count(*) as cancelled from cancelled;

-- due: the part of a claim that takes what is pending and due, in order
select id from jobs
where status = 'pending' and not_before <= now()
order by priority desc, not_before, id
limit (select case when $6::boolean then 0 else $2::bigint end)
for no key update skip locked

-- due_in_group: the same, of one group; apart, so that the planner may begin with the group where it is the smaller set
select id from jobs
where status = 'pending' and not_before <= now()
  and exists (select from job_groups where group_id = $5 and job_id = jobs.id and not cancelled)
order by priority desc, not_before, id
limit (select case when $6::boolean then 0 else $2::bigint end)
for no key update of jobs skip locked

-- wanted: whether a claim may take an expired job; any, when no group is asked for
$5::text is null

-- wanted_in_group: the same, of one group; apart, because a plan that looks for groups in vain costs more
exists (select from job_groups where group_id = $5 and job_id = jobs.id and not cancelled)

-- claim: lease the due, unless only the expired are asked for; then, while there is room, the expired; bury the exhausted
with due as materialized (
  -- Materialized, because the planner may otherwise run the choice more than once, and claim more than asked for.
  {due}
),
expired as materialized (
  select id, attempts >= $4 as exhausted from jobs
  where status = 'leased' and lease_until < now()
    and (attempts >= $4 or {wanted})
  -- In the index's order, because only a scan of that kind marks dead entries, so that the next one passes over them.
  order by id
  limit $2::bigint - (select count(*) from due)
  for no key update skip locked
),
buried as (
  update jobs
  set status = 'dead', lease_owner = null, lease_until = null, finished_at = now(), last_error_at = now(),
      last_error_code = 'lease-expired',
      last_error_message = 'its workers stopped without a word, again and again'
  from expired
  where jobs.id = expired.id and exhausted
  returning jobs.id
),
chosen as materialized (
  -- A fence is drawn once its job is locked, and so is larger than any that the job had. From an array, because the
  -- planner takes it for short, and so never reads the whole table to find these few.
  select id, nextval('fences') as fence
  from unnest(array(select id from expired where not exhausted union all select id from due)) as id
),
leased as (
  update jobs
  set status = 'leased', lease_owner = $1, lease_until = now() + make_interval(secs => $3), fence = chosen.fence,
      attempts = attempts + 1, attempts_total = attempts_total + 1
  from chosen
  where jobs.id = chosen.id
  returning jobs.id, jobs.shard, jobs.fence, jobs.attempts, jobs.cursor, jobs.failures
)
select * from leased
-- Buried jobs took the place of others.
union all select id, null, null, null, null, null from buried;

-- renew: extend the leases that are still current, except those that are being changed
update jobs
set lease_until = now() + make_interval(secs => $3)
where id = any(array(
  select jobs.id
  from unnest((select $1::uuid[]), (select $2::bigint[])) as held (id, fence)
  join jobs on jobs.id = held.id and jobs.fence = held.fence
  where jobs.status || '' = 'leased'
  for no key update of jobs skip locked
))
returning id;

-- current: those of these leases that are current
select jobs.id
from unnest((select $1::uuid[]), (select $2::bigint[])) as held (id, fence)
join jobs on jobs.id = held.id and jobs.fence = held.fence
where jobs.status || '' = 'leased';

-- checkpoint: progress, after which earlier attempts do not count
update jobs
set cursor = $3, attempts = 0, failures = 0,
    counters = case when $4::jsonb is null then counters else counters_added(counters, $4::jsonb) end
where id = $1 and fence = $2 and status = 'leased'
returning id;

-- complete: leased to done, many at once; where nothing was counted, the last array is empty
update jobs
set status = 'done', lease_owner = null, lease_until = null, finished_at = now(),
    counters = case when ack.counted is null then counters else counters_added(counters, ack.counted) end
from unnest((select $1::uuid[]), (select $2::bigint[]), (select $3::jsonb[])) as ack (id, fence, counted)
where jobs.id = ack.id and jobs.fence = ack.fence and jobs.status || '' = 'leased'
returning jobs.id;

-- fail: leased to pending after a number of seconds, or to dead when that is null
with failed as (
  update jobs
  set status = case when $5::float8 is null then 'dead' else 'pending' end,
      lease_owner = null, lease_until = null, failures = failures + 1,
      not_before = now() + make_interval(secs => coalesce($5::float8, 0)),
      finished_at = case when $5::float8 is null then now() end,
      last_error_code = $3, last_error_message = $4, last_error_at = now(),
      counters = case when $6::jsonb is null then counters else counters_added(counters, $6::jsonb) end
  where id = $1 and fence = $2 and status = 'leased'
  returning id
)
select id, case when $5::float8 <= 0 then pg_notify('waypost_jobs', '') end from failed;

-- release: leased to pending after a delay; a job that was given back has not failed, but may wait for something
with released as (
  update jobs
  set status = 'pending', lease_owner = null, lease_until = null,
      not_before = now() + make_interval(secs => $3::float8), attempts = 0,
      last_error_code = coalesce($5::text, last_error_code), last_error_message = coalesce($6::text, last_error_message),
      last_error_at = case when $5::text is null then last_error_at else now() end,
      counters = case when $4::jsonb is null then counters else counters_added(counters, $4::jsonb) end
  where id = $1 and fence = $2 and status = 'leased'
  returning id
)
select id, case when $3::float8 <= 0 then pg_notify('waypost_jobs', '') end from released;

-- release_owner: what a dead worker of that name left behind; what was begun too often in a row is buried
with buried as (
  update jobs
  set status = 'dead', lease_owner = null, lease_until = null, finished_at = now(), last_error_at = now(),
      last_error_code = 'lease-expired',
      last_error_message = 'its workers stopped without a word, again and again'
  where status = 'leased' and lease_owner = $1 and attempts >= $2
  returning id
),
released as (
  update jobs set status = 'pending', lease_owner = null, lease_until = null
  where status = 'leased' and lease_owner = $1 and attempts < $2
  returning id
)
select count(*) + (select count(*) from buried) as released, case when count(*) > 0 then pg_notify('waypost_jobs', '') end from released;

-- raise_alone: two processes that raise fences at once, to different heights, would put them back
select pg_advisory_xact_lock(hashtext('waypost_fences'));

-- raise_fences: at least to where another store has seen them; a short way by drawing them, because those that a claim
-- draws between the look and the leap would be given again
select case
  when $1 - last_value > 100000 then setval('fences', $1)
  else (select max(nextval('fences')) from generate_series(last_value, $1))
end
from fences
where last_value < $1 or not is_called;

-- revive: dead jobs get another chance
with revived as (
  update jobs set status = 'pending', attempts = 0, failures = 0, not_before = now(), finished_at = null
  where status = 'dead' and ($1::text[] is null or shard = any($1::text[]))
  returning id
)
select count(*) as revived, case when count(*) > 0 then pg_notify('waypost_jobs', '') end from revived;

-- redo: what was done is done again
with redone as (
  update jobs set status = 'pending', attempts = 0, failures = 0, cursor = null, not_before = now(), finished_at = null
  where status = 'done' and shard = any($1::text[])
  returning id
)
select count(*) as redone, case when count(*) > 0 then pg_notify('waypost_jobs', '') end from redone;

-- prune: some of the jobs that ended like this long ago
with old as materialized (
  select id from jobs
  where status = $2 and finished_at < now() - make_interval(secs => $1) and starts_with(shard, $4)
  order by finished_at limit $3 for update skip locked
),
pruned as (
  delete from jobs where id = any(array(select id from old)) returning id
)
select count(*) as pruned from pruned;

-- get: one job by its id or its shard
select * from jobs where id = $1 or shard = $2;

-- list: jobs, oldest first
select * from jobs
where ($1::text is null or status = $1)
  and ($2::text is null or exists (select from job_groups where group_id = $2 and job_id = jobs.id))
  and starts_with(shard, $3)
order by id
limit $4;

-- count: jobs by status
select status, count(*) as jobs from jobs group by status;

-- tally: where the jobs of a group stand, and what was counted on them since it began; jobs that it cancelled and
-- others go on with count as cancelled
with members as materialized (
  select case when cancelled and status in ('pending', 'leased') then 'cancelled' else status end as status,
         counters, counters_before
  from job_groups join jobs on jobs.id = job_id
  where group_id = $1
),
counted as (
  select key, value::bigint as number from members, jsonb_each_text(counters) where counters <> counters_before
  union all
  select key, -value::bigint from members, jsonb_each_text(counters_before) where counters <> counters_before
)
select true as is_status, status as name, count(*) as number from members group by status
union all
select false, key, sum(number)::bigint from counted group by key;
