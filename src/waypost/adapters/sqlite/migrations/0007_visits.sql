-- What is kept of a visit. It only adds, so that the release before goes on adding visits of its own; `waypost link
-- rebuild` counts those.
-- A hash under a key that is thrown away after a day.
alter table visits add column visitor text not null default '';
alter table visits add column referrer_host text not null default '';
alter table visits add column referrer_path text not null default '';
alter table visits add column agent text not null default '';
alter table visits add column language text not null default '';
alter table visits add column country text not null default '';
-- What the agent told us when the visit was counted.
alter table visits add column browser text not null default '';
alter table visits add column device text not null default '';
alter table visits add column system text not null default '';
alter table visits add column bot integer not null default 0;
create index visits_by_age on visits (at);

-- Projections: what was counted from visits, in the same transaction. Hours, days and stretches of 32 days are numbered
-- from 1970-01-01T00:00Z on. `visits` are by people; bots are counted apart.

create table visit_totals (
  link_id text primary key,
  visits integer not null default 0,
  visitors integer not null default 0,
  bots integer not null default 0
) strict, without rowid;

create table visit_days (
  link_id text not null,
  day integer not null,
  visits integer not null,
  visitors integer not null,
  bots integer not null,
  primary key (link_id, day)
) strict, without rowid;

create table visit_hours (
  link_id text not null,
  hour integer not null,
  visits integer not null,
  bots integer not null,
  primary key (link_id, hour)
) strict, without rowid;

-- Visits by people, by hour, day and stretch, for each known value of a dimension.
create table visit_values (
  link_id text not null,
  dimension text not null,
  -- How many hours a period has: 1, 24 or 768.
  hours integer not null,
  period integer not null,
  value text not null,
  visits integer not null,
  primary key (link_id, dimension, hours, period, value)
) strict, without rowid;

-- Who was here on which day already, and in which hours of it: a bit each.
create table visit_visitors (
  link_id text not null,
  day integer not null,
  visitor text not null,
  hours integer not null,
  primary key (link_id, day, visitor)
) strict, without rowid;

-- How many came in an hour, by the hour of that day in which they were last here; by the one before it, if in none.
create table visit_arrivals (
  link_id text not null,
  hour integer not null,
  last_here integer not null,
  visitors integer not null,
  primary key (link_id, hour, last_here)
) strict, without rowid;

-- In microseconds since 1970: before that, events may be gone, and what was counted of them is all there is.
insert into facts values ('visits-forgotten-before', '-9000000000000000000') on conflict do nothing;

insert into visit_hours (link_id, hour, visits, bots)
select link_id, at / 3600000000, count(*), 0 from visits group by 1, 2;
insert into visit_days (link_id, day, visits, visitors, bots)
select link_id, hour / 24, sum(visits), 0, 0 from visit_hours group by 1, 2;
insert into visit_totals (link_id, visits)
select link_id, sum(visits) from visit_days group by link_id;
