-- add: a job for a shard, unless there is one; a cancelled one is wanted again
insert into jobs (id, shard, status, priority, not_before, created_at)
values (:id, :shard, 'pending', :priority, :not_before, :now)
on conflict (shard) do update set status = 'pending', finished_at = null, attempts = 0, failures = 0 where status = 'cancelled';

-- join_group: the group waits for the job from here on, even if it had cancelled
insert into job_groups (group_id, job_id, counters_before)
select :group, id, counters from jobs where shard = :shard
on conflict do update set cancelled = 0 where cancelled;

-- inherit_groups: a part of a job is wanted by the groups that want the whole
insert into job_groups (group_id, job_id, counters_before)
select group_id, part.id, part.counters
from job_groups join jobs part on part.shard = :shard
where job_groups.job_id = :id and not job_groups.cancelled
on conflict do update set cancelled = 0 where cancelled;

-- leave_unfinished: the group no longer waits for its unfinished jobs
update job_groups set cancelled = 1
where group_id = :group and not cancelled
  and exists (select 1 from jobs where id = job_id and status in ('pending', 'leased'))
returning job_id;

-- cancel: a job that no group waits for any more
update jobs set status = 'cancelled', lease_owner = null, lease_until = null, finished_at = :now
where id = :id and not exists (select 1 from job_groups where job_id = :id and not cancelled);

-- bury: jobs whose workers stopped without a word too often in a row
update jobs
set status = 'dead', lease_owner = null, lease_until = null, finished_at = :now, last_error_at = :now,
    last_error_code = 'lease-expired',
    last_error_message = 'its workers stopped without a word, again and again'
where status = 'leased' and lease_until < :now and attempts >= :max_vanished;

-- bury_owned: jobs that a dead worker of that name left behind and that were begun too often in a row
update jobs
set status = 'dead', lease_owner = null, lease_until = null, finished_at = :now, last_error_at = :now,
    last_error_code = 'lease-expired',
    last_error_message = 'its workers stopped without a word, again and again'
where status = 'leased' and lease_owner = :owner and attempts >= :max_vanished;

-- expired: leased jobs that any worker may take
select id from jobs
where status = 'leased' and lease_until < :now
  and (:group is null or id in (select job_id from job_groups where group_id = :group and not cancelled))
limit :limit;

-- due: pending jobs that any worker may take, in order
select id from jobs
where status = 'pending' and not_before <= :now
  and (:group is null or id in (select job_id from job_groups where group_id = :group and not cancelled))
order by priority desc, not_before, id
limit :limit;

-- take_fences: a run of fences that no lease has had
update fences set last = last + :count returning last;

-- raise_fences: at least to where another store has seen them
update fences set last = max(last, :above);

-- lease: give a job to an owner
update jobs
set status = 'leased', lease_owner = :owner, lease_until = :until, fence = :fence,
    attempts = attempts + 1, attempts_total = attempts_total + 1
where id = :id
returning shard, attempts, cursor, failures;

-- renew: extend a lease that is still current
update jobs set lease_until = :until where id = :id and fence = :fence and status = 'leased';

-- counters: what is counted on a job, for the holder of its fence
select counters from jobs where id = :id and fence = :fence and status = 'leased';

-- set_counters: write down what was counted
update jobs set counters = :counters where id = :id;

-- end_lease: leased to another status
update jobs
set status = :status, lease_owner = null, lease_until = null, not_before = :not_before, finished_at = :finished_at
where id = :id;

-- count_failure: a try that failed
update jobs set failures = failures + 1 where id = :id;

-- set_error: why the last try failed
update jobs set last_error_code = :code, last_error_message = :message, last_error_at = :now where id = :id;

-- forgive_attempts: a job that was given back has not failed, and its worker has not vanished
update jobs set attempts = 0 where id = :id;

-- move_cursor: progress, after which earlier attempts do not count
update jobs set cursor = :cursor, attempts = 0, failures = 0 where id = :id;

-- release_owner: what a dead worker of that name left behind
update jobs set status = 'pending', lease_owner = null, lease_until = null
where status = 'leased' and lease_owner = :owner;

-- revive: dead jobs get another chance
update jobs set status = 'pending', attempts = 0, failures = 0, not_before = :now, finished_at = null
where status = 'dead' and (:shards is null or shard in (select value from json_each(:shards)));

-- redo: what was done is done again
update jobs set status = 'pending', attempts = 0, failures = 0, cursor = null, not_before = :now, finished_at = null
where status = 'done' and shard in (select value from json_each(:shards));

-- prune: some of the jobs that ended like this long ago
delete from jobs
where id in (
  select id from jobs
  where status = :status and finished_at < :before and substr(shard, 1, length(:prefix)) = :prefix
  order by finished_at limit :limit
);

-- get: one job by its id or its shard
select * from jobs where id = :name or shard = :name;

-- list: jobs, oldest first
select * from jobs
where (:status is null or status = :status)
  and substr(shard, 1, length(:prefix)) = :prefix
  and (:group is null or id in (select job_id from job_groups where group_id = :group))
order by id
limit :limit;

-- count: jobs by status
select status, count(*) as jobs from jobs group by status;

-- tally: where the jobs of a group stand; jobs that it cancelled and others go on with count as cancelled
select case when cancelled and status in ('pending', 'leased') then 'cancelled' else status end as status,
       counters, counters_before
from job_groups join jobs on jobs.id = job_id
where group_id = :group;
