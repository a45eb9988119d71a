-- make: the records, so that there is something to lock
insert into budget_records (name)
select unnest($1::text[])
on conflict do nothing;

-- lock: the records in order, and the time once all of them are ours; a process that stops now is thrown out at once
with locked as materialized (
  select name, record, set_config('idle_in_transaction_session_timeout', '500ms', true)
  from budget_records
  where name = any($1::text[])
  order by name desc
  for no key update
)
select name, record, extract(epoch from clock_timestamp()) * 1000000 as now from locked;

-- keep: the records after a change
update budget_records set record = kept.record
from unnest($1::text[], $2::bytea[]) as kept (name, record)
where budget_records.name = kept.name;

-- read: the records, without waiting for a lock
select name, record, extract(epoch from clock_timestamp()) * 1000000 as now
from unnest($1::text[]) as wanted (name) left join budget_records using (name);
