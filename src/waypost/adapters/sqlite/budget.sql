-- get: a budget's record
select record from budget_records where name = ?;

-- keep: a record after a change
insert into budget_records (name, record) values (?, ?)
on conflict do update set record = excluded.record;
