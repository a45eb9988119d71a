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

-- forget_rejects: that were last seen long ago
delete from rejects where seen_at < :before;

-- finish: it has ended
update imports set status = :status, finished_at = :now where id = :id;
