-- known: which of these are there already
select id from visits where id in (select value from json_each(:ids));

-- add: a visit that is not there yet
insert into visits (
  id, link_id, at, visitor, referrer_host, referrer_path, agent, language, country, browser, device, system, bot
)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- seen: in which hours of that day a visitor was here
select hours from visit_visitors where link_id = ? and day = ? and visitor = ?;

-- see: a visitor, in all hours of that day in which they were here
insert into visit_visitors (link_id, day, visitor, hours) values (?, ?, ?, ?)
on conflict do update set hours = excluded.hours;

-- count_arrivals: add to what was counted
insert into visit_arrivals (link_id, hour, last_here, visitors) values (?, ?, ?, ?)
on conflict do update set visitors = visitors + excluded.visitors;

-- drop_arrivals: where nobody is left
delete from visit_arrivals where link_id = ? and hour = ? and last_here = ? and visitors = 0;

-- count_totals: add to what was counted
insert into visit_totals (link_id, visits, visitors, bots) values (?, ?, ?, ?)
on conflict do update
set visits = visits + excluded.visits, visitors = visitors + excluded.visitors, bots = bots + excluded.bots;

-- count_days: add to what was counted
insert into visit_days (link_id, day, visits, visitors, bots) values (?, ?, ?, ?, ?)
on conflict do update
set visits = visits + excluded.visits, visitors = visitors + excluded.visitors, bots = bots + excluded.bots;

-- count_hours: add to what was counted
insert into visit_hours (link_id, hour, visits, bots) values (?, ?, ?, ?)
on conflict do update set visits = visits + excluded.visits, bots = bots + excluded.bots;

-- count_values: add to what was counted
insert into visit_values (link_id, dimension, hours, period, value, visits) values (?, ?, ?, ?, ?, ?)
on conflict do update set visits = visits + excluded.visits;

-- count: visits by people
select link_id, visits from visit_totals where link_id in (select value from json_each(:links)) and visits > 0;

-- totals: whole days; hours of days at the edges; and visits of hours at the edges, whose visitors may be in the rest
with counted as (
  select visits, bots from visit_days where link_id = ?1 and day >= ?2 and day < ?3
  union all
  select visits, bots from visit_hours where link_id = ?1 and hour >= ?4 and hour < ?5
  union all
  select visits, bots from visit_hours where link_id = ?1 and hour >= ?6 and hour < ?7
  union all
  select not bot, bot from visits where link_id = ?1 and at >= ?8 and at < ?9
  union all
  select not bot, bot from visits where link_id = ?1 and at >= ?10 and at < ?11
),
met as (
  select sum(visitors) as visitors from visit_days where link_id = ?1 and day >= ?2 and day < ?3
  union all
  select sum(visitors) from visit_arrivals where link_id = ?1 and hour >= ?4 and hour < ?5 and last_here < ?4
  union all
  select sum(visitors) from visit_arrivals where link_id = ?1 and hour >= ?6 and hour < ?7 and last_here < ?6
  union all
  select count(*) from (
    select ?12 as day, visitor from visits
    where link_id = ?1 and at >= ?8 and at < ?9 and not bot and visitor <> '' and not exists (
      select 1 from visit_visitors as known
      where known.link_id = ?1 and known.day = ?12 and known.visitor = visits.visitor and known.hours & ?13
    )
    union
    select ?14, visitor from visits
    where link_id = ?1 and at >= ?10 and at < ?11 and not bot and visitor <> '' and not exists (
      select 1 from visit_visitors as known
      where known.link_id = ?1 and known.day = ?14 and known.visitor = visits.visitor and known.hours & ?15
    )
  )
)
select
  coalesce(sum(visits), 0) as visits,
  coalesce(sum(bots), 0) as bots,
  (select coalesce(sum(visitors), 0) from met) as visitors
from counted;

-- series: the same pieces, each with the hour that it begins in
select 24 * day as hour, visits, bots from visit_days where link_id = ?1 and day >= ?2 and day < ?3
union all
select hour, visits, bots from visit_hours where link_id = ?1 and hour >= ?4 and hour < ?5
union all
select hour, visits, bots from visit_hours where link_id = ?1 and hour >= ?6 and hour < ?7
union all
select ?12, coalesce(sum(not bot), 0), coalesce(sum(bot), 0) from visits where link_id = ?1 and at >= ?8 and at < ?9
union all
select ?13, coalesce(sum(not bot), 0), coalesce(sum(bot), 0) from visits where link_id = ?1 and at >= ?10 and at < ?11;

-- top: whole hours by known value, from stretches, days and hours that are added or taken away; what these leave of all
-- visits of those hours is unknown; and visits at the edges
with pieces as (
  select value, visits from visit_values
  where link_id = ?1 and dimension = ?2 and hours = 768 and period >= ?3 and period < ?4
  union all
  select value, visits * ?7 from visit_values
  where link_id = ?1 and dimension = ?2 and hours = 24 and period >= ?5 and period < ?6
  union all
  select value, visits * ?10 from visit_values
  where link_id = ?1 and dimension = ?2 and hours = 24 and period >= ?8 and period < ?9
  union all
  select value, visits * ?13 from visit_values
  where link_id = ?1 and dimension = ?2 and hours = 1 and period >= ?11 and period < ?12
  union all
  select value, visits * ?16 from visit_values
  where link_id = ?1 and dimension = ?2 and hours = 1 and period >= ?14 and period < ?15
),
known as materialized (
  select value, sum(visits) as visits from pieces group by value
),
counted as (
  select value, visits from known
  union all
  select '', -visits from known
  union all
  select '', visits from visit_days where link_id = ?1 and day >= ?17 and day < ?18
  union all
  select '', visits from visit_hours where link_id = ?1 and hour >= ?19 and hour < ?20
  union all
  select '', visits from visit_hours where link_id = ?1 and hour >= ?21 and hour < ?22
  union all
  select {column}, 1 from visits where link_id = ?1 and at >= ?23 and at < ?24 and not bot
  union all
  select {column}, 1 from visits where link_id = ?1 and at >= ?25 and at < ?26 and not bot
)
select value, sum(visits) as visits from counted
group by value
having sum(visits) > 0
order by sum(visits) desc, value
limit ?27;

-- totals_of: a link, at all times
select visits, visitors, bots from visit_totals where link_id = :link_id;

-- events: of a link, oldest first
select id, link_id, at, visitor, referrer_host, referrer_path, agent, language, country from visits
where link_id = :link_id and (at, id) > (:at, :id) and at < :end
order by at, id
limit :limit;

-- remember: before when events are dropped
update facts set value = max(cast(value as integer), :before) where name = 'visits-forgotten-before';

-- old: the oldest events
select id, link_id, at / 86400000000 as day, visitor from visits where at < :before order by at limit :limit;

-- forget: an event
delete from visits where id = ?;

-- forget_visitor: the visitor of a forgotten event
delete from visit_visitors where link_id = ? and day = ? and visitor = ?;

-- forgotten: since when all events are kept
select cast(value as integer) as value from facts where name = 'visits-forgotten-before';

-- ages: from the oldest event to the newest
select (select min(at) from visits) as oldest, (select max(at) from visits) as newest;

-- links: the next that have events or counts, without reading all events of any
with recursive next_one (link_id) as (
  select min(link_id) from (
    select min(link_id) as link_id from visits where link_id > :after
    union all
    select min(link_id) from visit_totals where link_id > :after
  )
  union all
  select (
    select min(link_id) from (
      select min(link_id) as link_id from visits where link_id > next_one.link_id
      union all
      select min(link_id) from visit_totals where link_id > next_one.link_id
    )
  )
  from next_one
  where next_one.link_id is not null
)
select link_id from next_one where link_id is not null limit :limit;

-- clear_days: of some links
delete from visit_days
where link_id in (select value from json_each(:links)) and day >= :first and day < :last;

-- clear_visitors: of some links
delete from visit_visitors
where link_id in (select value from json_each(:links)) and day >= :first and day < :last;

-- clear_hours: of some links
delete from visit_hours
where link_id in (select value from json_each(:links)) and hour >= :first_hour and hour < :last_hour;

-- clear_arrivals: of some links
delete from visit_arrivals
where link_id in (select value from json_each(:links)) and hour >= :first_hour and hour < :last_hour;

-- clear_values: of some links, for periods of one length
delete from visit_values
where link_id in (select value from json_each(:links)) and dimension in (select value from json_each(:dimensions))
  and hours = :hours and period >= :first_period and period < :last_period;

-- add_up_stretches: from the days that stay
insert into visit_values (link_id, dimension, hours, period, value, visits)
select link_id, dimension, 768, period >> 5, value, sum(visits) from visit_values
where link_id in (select value from json_each(:links)) and dimension in (select value from json_each(:dimensions))
  and hours = 24 and period >= 32 * :first_stretch and period < 32 * :last_stretch
group by link_id, dimension, period >> 5, value;

-- add_up_totals: from the days that stay
insert into visit_totals (link_id, visits, visitors, bots)
select
  value, coalesce(sum(visits), 0), coalesce(sum(visitors), 0), coalesce(sum(bots), 0)
from json_each(:links) left join visit_days on link_id = value
where true
group by value
on conflict do update set visits = excluded.visits, visitors = excluded.visitors, bots = excluded.bots;

-- all_of: the events of some links
select
  id, link_id, at, visitor, referrer_host, referrer_path, agent, language, country, browser, device, system, bot
from visits
where link_id in (select value from json_each(:links)) and at >= :start and at < :end;

-- how_many: events of some links, counted up to a limit
select count(*) from (
  select 1 from visits
  where link_id in (select value from json_each(:links)) and at >= :start and at < :end
  limit :limit
);

-- erased: until when visits of some links were erased
select link_id, erased_until from visit_totals
where link_id in (select value from json_each(:links)) and erased_until is not null;

-- begin_erasing: from here on, visits up to then are not counted
insert into visit_totals (link_id, erased_until) values (:link_id, :until)
on conflict do update set erased_until = max(coalesce(erased_until, excluded.erased_until), excluded.erased_until);

-- erase_some: events up to then
delete from visits where id in (
  select id from visits where link_id = :link_id and at <= :until order by at limit :limit
);

-- erase_some_values: of periods that have ended before then, to which nothing is added any more
delete from visit_values where (link_id, dimension, hours, period, value) in (
  select link_id, dimension, hours, period, value from visit_values
  where link_id = :link_id and hours * (period + 1) <= :hour
  limit :limit
);

-- erase_some_visitors: of days that have ended before then
delete from visit_visitors where (link_id, day, visitor) in (
  select link_id, day, visitor from visit_visitors where link_id = :link_id and 24 * (day + 1) <= :hour limit :limit
);

-- erase_days: all of a link
delete from visit_days where link_id = :link_id;

-- erase_hours: all of a link
delete from visit_hours where link_id = :link_id;

-- erase_values: all of a link
delete from visit_values where link_id = :link_id;

-- erase_visitors: all of a link
delete from visit_visitors where link_id = :link_id;

-- erase_arrivals: all of a link
delete from visit_arrivals where link_id = :link_id;

-- erase_totals: the row stays, and says until when
update visit_totals set visits = 0, visitors = 0, bots = 0 where link_id = :link_id;
