-- A budget is one record that is changed as a whole. The tables of the release before stay for as long as it may run.
create table budget_records (
  name text primary key,
  record blob not null
) strict, without rowid;
