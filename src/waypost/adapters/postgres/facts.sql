-- get: what is known
select value from facts where name = $1;

-- set: from now on it is this
insert into facts (name, value) values ($1, $2)
on conflict (name) do update set value = excluded.value;

-- learn: a fact that was not known yet
insert into facts (name, value) values ($1, $2)
on conflict (name) do nothing
returning name;

-- replace: a fact that is still what the caller saw
update facts set value = $3 where name = $1 and value = $2
returning name;
