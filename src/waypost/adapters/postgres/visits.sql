-- begin: links that have no row of totals yet get one, by which they can be held
insert into visit_totals (link_id) select link_id from unnest($1::text[]) as given (link_id)
order by link_id
on conflict do nothing;

-- hold: a process that counts visits of these links waits for others that do; all in the same order, so no deadlock
select link_id, erased_until from visit_totals where link_id = any($1::text[]) order by link_id for no key update;

-- add: keep each visit once, however often it is shipped; returns which were new
with added as (
  insert into visits (
    id, link_id, at, visitor, referrer_host, referrer_path, agent, language, country, browser, device, system, bot
  )
  select * from unnest(
    $1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::boolean[]
  ) as shipped (id, link_id, at)
  order by id
  on conflict (id) do nothing
  returning id
)
select coalesce(array_agg(id), '{}') as ids from added;

-- seen: in which hours of a day visitors were here; null for none
select link_id, day, visitor, (
  select hours from visit_visitors as known
  where known.link_id = asked.link_id and known.day = asked.day and known.visitor = asked.visitor
) as hours
from unnest($1::text[], $2::integer[], $3::text[]) as asked (link_id, day, visitor);

-- see: visitors, in all hours of a day in which they were here
insert into visit_visitors (link_id, day, visitor, hours)
select * from unnest($1::text[], $2::integer[], $3::text[], $4::integer[])
on conflict (link_id, day, visitor) do update set hours = excluded.hours;

-- count_arrivals: add to what was counted
insert into visit_arrivals (link_id, hour, last_here, visitors)
select * from unnest($1::text[], $2::integer[], $3::integer[], $4::bigint[])
on conflict (link_id, hour, last_here) do update set visitors = visit_arrivals.visitors + excluded.visitors;

-- drop_arrivals: where nobody is left
delete from visit_arrivals as counted
using unnest($1::text[], $2::integer[], $3::integer[]) as given (link_id, hour, last_here)
where counted.link_id = given.link_id and counted.hour = given.hour and counted.last_here = given.last_here
  and counted.visitors = 0;

-- count_totals: add to what was counted
insert into visit_totals (link_id, visits, visitors, bots)
select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
on conflict (link_id) do update
set visits = visit_totals.visits + excluded.visits, visitors = visit_totals.visitors + excluded.visitors,
    bots = visit_totals.bots + excluded.bots;

-- count_days: add to what was counted
insert into visit_days (link_id, day, visits, visitors, bots)
select * from unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[])
on conflict (link_id, day) do update
set visits = visit_days.visits + excluded.visits, visitors = visit_days.visitors + excluded.visitors,
    bots = visit_days.bots + excluded.bots;

-- count_hours: add to what was counted
insert into visit_hours (link_id, hour, visits, bots)
select * from unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[])
on conflict (link_id, hour) do update
set visits = visit_hours.visits + excluded.visits, bots = visit_hours.bots + excluded.bots;

-- count_values: add to what was counted
insert into visit_values (link_id, dimension, hours, period, value, visits)
select * from unnest($1::text[], $2::text[], $3::smallint[], $4::integer[], $5::text[], $6::bigint[])
on conflict (link_id, dimension, hours, period, value) do update set visits = visit_values.visits + excluded.visits;

-- count: visits by people
select link_id, visits from visit_totals where link_id = any($1::text[]) and visits > 0;

-- totals: whole days; hours of days at the edges; and visits of hours at the edges, whose visitors may be in the rest
with counted as (
  select visits, bots from visit_days where link_id = $1 and day >= $2 and day < $3
  union all
  select visits, bots from visit_hours where link_id = $1 and hour >= $4 and hour < $5
  union all
  select visits, bots from visit_hours where link_id = $1 and hour >= $6 and hour < $7
  union all
  select (not bot)::integer, bot::integer from visits where link_id = $1 and at >= $8 and at < $9
  union all
  select (not bot)::integer, bot::integer from visits where link_id = $1 and at >= $10 and at < $11
),
met as (
  select sum(visitors) as visitors from visit_days where link_id = $1 and day >= $2 and day < $3
  union all
  select sum(visitors) from visit_arrivals where link_id = $1 and hour >= $4 and hour < $5 and last_here < $4
  union all
  select sum(visitors) from visit_arrivals where link_id = $1 and hour >= $6 and hour < $7 and last_here < $6
  union all
  select count(*) from (
    select $12::integer as day, visitor from visits
    where link_id = $1 and at >= $8 and at < $9 and not bot and visitor <> '' and coalesce((
      select hours from visit_visitors as known
      where known.link_id = $1 and known.day = $12 and known.visitor = visits.visitor
    ), 0) & $13::integer = 0
    union
    select $14::integer, visitor from visits
    where link_id = $1 and at >= $10 and at < $11 and not bot and visitor <> '' and coalesce((
      select hours from visit_visitors as known
      where known.link_id = $1 and known.day = $14 and known.visitor = visits.visitor
    ), 0) & $15::integer = 0
  ) as others
)
select
  coalesce(sum(visits), 0)::bigint as visits,
  coalesce(sum(bots), 0)::bigint as bots,
  (select coalesce(sum(visitors), 0) from met)::bigint as visitors
from counted;

-- series: the same pieces, each with the hour that it begins in
select 24 * day as hour, visits, bots from visit_days where link_id = $1 and day >= $2 and day < $3
union all
select hour, visits, bots from visit_hours where link_id = $1 and hour >= $4 and hour < $5
union all
select hour, visits, bots from visit_hours where link_id = $1 and hour >= $6 and hour < $7
union all
select $12::integer, count(*) filter (where not bot), count(*) filter (where bot) from visits
where link_id = $1 and at >= $8 and at < $9
union all
select $13::integer, count(*) filter (where not bot), count(*) filter (where bot) from visits
where link_id = $1 and at >= $10 and at < $11;

-- top: whole hours by known value, from stretches, days and hours that are added or taken away; what these leave of all
-- visits of those hours is unknown; and visits at the edges
with pieces as (
  select value, visits from visit_values
  where link_id = $1 and dimension = $2 and hours = 768 and period >= $3 and period < $4
  union all
  select value, visits * $7::integer from visit_values
  where link_id = $1 and dimension = $2 and hours = 24 and period >= $5 and period < $6
  union all
  select value, visits * $10::integer from visit_values
  where link_id = $1 and dimension = $2 and hours = 24 and period >= $8 and period < $9
  union all
  select value, visits * $13::integer from visit_values
  where link_id = $1 and dimension = $2 and hours = 1 and period >= $11 and period < $12
  union all
  select value, visits * $16::integer from visit_values
  where link_id = $1 and dimension = $2 and hours = 1 and period >= $14 and period < $15
),
known as materialized (
  select value, sum(visits)::bigint as visits from pieces group by value
),
counted as (
  select value, visits from known
  union all
  select '' collate "C", -visits from known
  union all
  select '' collate "C", visits from visit_days where link_id = $1 and day >= $17 and day < $18
  union all
  select '' collate "C", visits from visit_hours where link_id = $1 and hour >= $19 and hour < $20
  union all
  select '' collate "C", visits from visit_hours where link_id = $1 and hour >= $21 and hour < $22
  union all
  select {column} collate "C", 1 from visits where link_id = $1 and at >= $23 and at < $24 and not bot
  union all
  select {column} collate "C", 1 from visits where link_id = $1 and at >= $25 and at < $26 and not bot
)
select value, sum(visits)::bigint as visits from counted
group by value
having sum(visits) > 0
order by sum(visits) desc, value
limit $27;

-- totals_of: a link, at all times
select visits, visitors, bots from visit_totals where link_id = $1;

-- events: of a link, oldest first
select id, link_id, at, visitor, referrer_host, referrer_path, agent, language, country from visits
where link_id = $1 and (at, id) > ($2, $3) and at < $4
order by at, id
limit $5;

-- remember: before when events are dropped; nobody counts again meanwhile
update facts set value = greatest(value::bigint, $1::bigint)::text where name = 'visits-forgotten-before';

-- forget: the oldest events, and their visitors
with old as (
  select id from visits where at at time zone 'UTC' < $1::timestamptz at time zone 'UTC'
  order by at at time zone 'UTC'
  limit $2
),
gone as (
  delete from visits using old where visits.id = old.id returning link_id, at, visitor
),
unknown_again as (
  delete from visit_visitors as met using gone
  where met.link_id = gone.link_id and met.day = floor(extract(epoch from gone.at) / 86400)::integer
    and met.visitor = gone.visitor
)
select count(*) as events from gone;

-- forgotten: since when all events are kept; nobody drops any meanwhile
select value::bigint from facts where name = 'visits-forgotten-before' for share;

-- ages: from the oldest event to the newest
select
  min(at at time zone 'UTC') at time zone 'UTC' as oldest, max(at at time zone 'UTC') at time zone 'UTC' as newest
from visits;

-- links: the next that have events or counts, without reading all events of any
with recursive next_one (link_id) as (
  select least(
    (select min(link_id) from visits where link_id > $1),
    (select min(link_id) from visit_totals where link_id > $1)
  )
  union all
  select least(
    (select min(link_id) from visits where link_id > next_one.link_id),
    (select min(link_id) from visit_totals where link_id > next_one.link_id)
  )
  from next_one
  where next_one.link_id is not null
)
select link_id from next_one where link_id is not null limit $2;

-- clear_days: of some links
delete from visit_days where link_id = any($1::text[]) and day >= $2 and day < $3;

-- clear_visitors: of some links
delete from visit_visitors where link_id = any($1::text[]) and day >= $2 and day < $3;

-- clear_hours: of some links
delete from visit_hours where link_id = any($1::text[]) and hour >= $2 and hour < $3;

-- clear_arrivals: of some links
delete from visit_arrivals where link_id = any($1::text[]) and hour >= $2 and hour < $3;

-- clear_values: of some links, for periods of one length
delete from visit_values
where link_id = any($1::text[]) and dimension = any($2::text[]) and hours = $3 and period >= $4 and period < $5;

-- add_up_stretches: from the days that stay
insert into visit_values (link_id, dimension, hours, period, value, visits)
select link_id, dimension, 768, period >> 5, value, sum(visits) from visit_values
where link_id = any($1::text[]) and dimension = any($2::text[]) and hours = 24
  and period >= 32 * $3::integer and period < 32 * $4::integer
group by link_id, dimension, period >> 5, value;

-- add_up_totals: from the days that stay
update visit_totals set visits = summed.visits, visitors = summed.visitors, bots = summed.bots
from (
  select
    given.link_id, coalesce(sum(visits), 0) as visits, coalesce(sum(visitors), 0) as visitors,
    coalesce(sum(bots), 0) as bots
  from unnest($1::text[]) as given (link_id)
  left join visit_days on visit_days.link_id = given.link_id
  group by given.link_id
) as summed
where visit_totals.link_id = summed.link_id;

-- all_of: the events of some links
select
  id, link_id, at, visitor, referrer_host, referrer_path, agent, language, country, browser, device, system, bot
from visits
where link_id = any($1::text[]) and at >= $2 and at < $3;

-- how_many: events of some links, counted up to a limit
select count(*) from (
  select from visits where link_id = any($1::text[]) and at >= $2 and at < $3 limit $4
) as found;

-- begin_erasing: from here on, visits up to then are not counted
update visit_totals set erased_until = greatest(erased_until, $2) where link_id = $1;

-- erase_events: up to then
delete from visits where link_id = $1 and at <= $2;

-- erase_days: all of a link
delete from visit_days where link_id = $1;

-- erase_hours: all of a link
delete from visit_hours where link_id = $1;

-- erase_values: all of a link
delete from visit_values where link_id = $1;

-- erase_visitors: all of a link
delete from visit_visitors where link_id = $1;

-- erase_arrivals: all of a link
delete from visit_arrivals where link_id = $1;

-- erase_totals: the row stays, and says until when
update visit_totals set visits = 0, visitors = 0, bots = 0 where link_id = $1;
