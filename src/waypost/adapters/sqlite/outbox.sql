-- waiting: the oldest events
select id, name, subject, occurred_at, data from outbox order by position limit :limit;

-- count: how many there are
select count(*) as events from outbox;

-- forget_older: some of those that happened long ago; only the first are looked at, because they are in order
delete from outbox where position in (
  select position from (select position, occurred_at from outbox order by position limit :limit)
  where occurred_at < :before
);

-- forget: those that have been relayed
delete from outbox where id in (select value from json_each(:ids));
