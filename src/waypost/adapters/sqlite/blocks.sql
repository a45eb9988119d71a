-- add: unless it is there, or there are too many
insert into blocks (kind, value, added_at, added_by)
select :kind, :value, :added_at, :added_by where (select count(*) from blocks) < :most
on conflict do nothing;

-- is_there: whether it is blocked
select 1 from blocks where kind = :kind and value = :value;

-- remove: one that is there
delete from blocks where kind = :kind and value = :value;

-- changed: so that every process reads them again
update facts set value = cast(cast(value as integer) + 1 as text) where name = 'blocks-version';

-- list: all of them
select kind, value, added_at, added_by from blocks order by kind, value;

-- version: how often they were changed
select cast(value as integer) as version from facts where name = 'blocks-version';
