-- start: an import begins
insert into imports (id, source, scope, status, started_at) values (:id, :source, :scope, :status, :started_at);

-- get: one import
select * from imports where id = :id;

-- latest: the newest first; ids sort by time
select * from imports order by id desc limit :limit;

-- finish: it has ended
update imports set status = :status, finished_at = :now where id = :id;
