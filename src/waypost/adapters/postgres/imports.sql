-- start: an import begins
insert into imports (id, source, scope, status, started_at) values ($1, $2, $3, $4, $5);

-- get: one import
select * from imports where id = $1;

-- latest: the newest first; ids sort by time
select * from imports order by id desc limit $1;

-- rejects: records of these shards that could not be understood
select shard, external_id, reason from rejects where shard = any($1::text[]) order by shard, record_hash limit $2;

-- forget_rejects: that were last seen long ago
delete from rejects where seen_at < now() - make_interval(secs => $1);

-- finish: it has ended
update imports set status = $2, finished_at = now() where id = $1;
