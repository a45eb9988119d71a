-- start: an import begins
insert into imports (id, source, scope, status, started_at) values (:id, :source, :scope, :status, :started_at);

-- get: one import
select * from imports where id = :id;

-- latest: the newest first; ids sort by time
select * from imports order by id desc limit :limit;

-- rejects: records of these shards that could not be understood
select shard, external_id, reason from rejects
where shard in (select value from json_each(:shards))
order by shard, record_hash
limit :limit;

-- forget_rejects: some that were last seen long ago
delete from rejects where rowid in (select rowid from rejects where seen_at < :before order by seen_at limit :limit);

-- forget_answers: some that were last given long ago
delete from answers
where question in (select question from answers where requested_at < :before order by requested_at limit :limit);

-- forget_removals: some that were judged long ago
delete from removals
where (import, shard) in (select import, shard from removals where judged_at < :before order by judged_at limit :limit);

-- forget_imports: some that ended long ago
delete from imports where id in (select id from imports where finished_at < :before order by finished_at limit :limit);

-- shards_after: the next few, and which of them no worker has touched for long
select shard, seen_at < :before as old from shards where shard > :after order by shard limit :limit;

-- forget_shards: unless a worker has begun with them again, or they have the highest fence
delete from shards
where shard in (select value from json_each(:shards)) and seen_at < :before
  and fence < (select max(fence) from shards);

-- passes_after: the next few, and which of them nobody has gone on with for long
select shard, seen_at < :before as old from passes where shard > :after order by shard limit :limit;

-- old_pass: unless somebody goes on with it
select state from passes where shard = :shard and seen_at < :before;

-- forget_marks: some of a pass
delete from marks where pass = :pass and external_id in (select external_id from marks where pass = :pass limit :limit);

-- forget_candidates: some of a shard
delete from candidates
where shard = :shard and external_id in (select external_id from candidates where shard = :shard limit :limit);

-- forget_pass: it has nothing left
delete from passes where shard = :shard;

-- finish: it has ended
update imports set status = :status, finished_at = :now where id = :id;
