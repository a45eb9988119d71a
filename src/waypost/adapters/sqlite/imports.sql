-- start: an import begins
insert into imports (id, source, scope, status, started_at) values (:id, :source, :scope, :status, :started_at);

-- finish: it has ended
update imports set status = :status, finished_at = :now where id = :id;
