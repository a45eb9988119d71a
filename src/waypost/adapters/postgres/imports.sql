-- start: an import begins
insert into imports (id, source, scope, status, started_at) values ($1, $2, $3, $4, $5);

-- get: one import
select * from imports where id = $1;

-- latest: the newest first; ids sort by time
select * from imports order by id desc limit $1;

-- rejects: records of these shards that could not be understood
select shard, external_id, reason from rejects where shard = any($1::text[]) order by shard, record_hash limit $2;

-- Below, rows that are being written are passed over: they are not old.

-- forget_rejects: some that were last seen long ago
with old as materialized (
  select shard, record_hash from rejects where seen_at < now() - make_interval(secs => $1)
  order by seen_at limit $2 for update skip locked
),
forgotten as (
  delete from rejects where (shard, record_hash) in (select shard, record_hash from old) returning 1
)
select count(*) as forgotten from forgotten;

-- forget_answers: some that were last given long ago
with old as materialized (
  select question from answers where requested_at < now() - make_interval(secs => $1)
  order by requested_at limit $2 for update skip locked
),
forgotten as (
  delete from answers where question = any(array(select question from old)) returning 1
)
select count(*) as forgotten from forgotten;

-- forget_removals: some that were judged long ago
with old as materialized (
  select import, shard from removals where judged_at < now() - make_interval(secs => $1)
  order by judged_at limit $2 for update skip locked
),
forgotten as (
  delete from removals where (import, shard) in (select import, shard from old) returning 1
)
select count(*) as forgotten from forgotten;

-- forget_imports: some that ended long ago
with old as materialized (
  select id from imports where finished_at < now() - make_interval(secs => $1)
  order by finished_at limit $2 for update skip locked
),
forgotten as (
  delete from imports where id = any(array(select id from old)) returning 1
)
select count(*) as forgotten from forgotten;

-- shards_after: the next few, and which of them no worker has touched for long
select shard, seen_at < now() - make_interval(secs => $2) as old from shards where shard > $1 order by shard limit $3;

-- forget_shards: unless a worker has begun with them again, or they have the highest fence
with old as materialized (
  select shard from shards
  where shard = any($1::text[]) and seen_at < now() - make_interval(secs => $2)
    and fence < (select max(fence) from shards)
  order by shard for update skip locked
),
forgotten as (
  delete from shards where shard = any(array(select shard from old)) returning 1
)
select count(*) as forgotten from forgotten;

-- passes_after: the next few, and which of them nobody has gone on with for long
select shard, seen_at < now() - make_interval(secs => $2) as old from passes where shard > $1 order by shard limit $3;

-- old_pass: unless somebody goes on with it
select state from passes where shard = $1 and seen_at < now() - make_interval(secs => $2) for update skip locked;

-- forget_marks: some of a pass
with some_of_it as materialized (select external_id from marks where pass = $1 order by external_id limit $2),
forgotten as (
  delete from marks where pass = $1 and external_id = any(array(select external_id from some_of_it)) returning 1
)
select count(*) from forgotten;

-- forget_candidates: some of a shard
with some_of_it as materialized (select external_id from candidates where shard = $1 order by external_id limit $2),
forgotten as (
  delete from candidates where shard = $1 and external_id = any(array(select external_id from some_of_it)) returning 1
)
select count(*) from forgotten;

-- forget_pass: it has nothing left
with forgotten as (delete from passes where shard = $1 returning 1) select count(*) from forgotten;

-- finish: it has ended
update imports set status = $2, finished_at = now() where id = $1;
