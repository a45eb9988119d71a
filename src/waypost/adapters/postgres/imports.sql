-- start: an import begins
insert into imports (id, source, scope, status, started_at) values ($1, $2, $3, $4, $5);

-- finish: it has ended
update imports set status = $2, finished_at = now() where id = $1;
