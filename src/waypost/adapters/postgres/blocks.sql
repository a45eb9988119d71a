-- add: unless it is there, or there are too many
with added as (
  insert into blocks (kind, value, added_at, added_by)
  select $1, $2, $3, $4 where (select count(*) from blocks) < $5
  on conflict do nothing
  returning value
),
changed as (
  update facts set value = (value::bigint + 1)::text where name = 'blocks-version' and exists (select from added)
)
select value from added union all select value from blocks where kind = $1 and value = $2;

-- remove: one that is there
with removed as (
  delete from blocks where kind = $1 and value = $2 returning value
),
changed as (
  update facts set value = (value::bigint + 1)::text where name = 'blocks-version' and exists (select from removed)
)
select value from removed;

-- list: all of them
select kind, value, added_at, added_by from blocks order by kind, value;

-- version: how often they were changed
select value::bigint as version from facts where name = 'blocks-version';
