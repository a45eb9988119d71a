-- waiting: the oldest events
select id, name, subject, occurred_at, data from outbox order by position limit $1;

-- count: how many there are
select count(*) as events from outbox;

-- forget_older: some of those that happened long ago; only the first are looked at, because they are in order
with old as materialized (
  select position from (select position, occurred_at from outbox order by position limit $2) as first
  where occurred_at < now() - make_interval(secs => $1)
),
forgotten as (
  delete from outbox where position = any(array(select position from old)) returning 1
)
select count(*) as events from forgotten;

-- forget: those that have been relayed
with forgotten as (
  delete from outbox where id = any($1::uuid[]) returning id
)
select count(*) as events from forgotten;
