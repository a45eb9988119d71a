-- A budget is one record that is changed as a whole, some times a second: room on its page keeps it there.
create table budget_records (
  name text primary key collate "C",
  record bytea
) with (fillfactor = 20);
