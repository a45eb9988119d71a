-- waiting: the oldest events
select id, name, subject, occurred_at, data from outbox order by position limit :limit;

-- count: how many there are
select count(*) as events from outbox;

-- forget: those that have been relayed
delete from outbox where id in (select value from json_each(:ids));
