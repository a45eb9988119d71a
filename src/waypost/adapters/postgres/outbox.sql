-- waiting: the oldest events
select id, name, subject, occurred_at, data from outbox order by position limit $1;

-- count: how many there are
select count(*) as events from outbox;

-- forget: those that have been relayed
with forgotten as (
  delete from outbox where id = any($1::uuid[]) returning id
)
select count(*) as events from forgotten;
