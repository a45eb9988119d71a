-- What is kept of a visit. It only adds, so that the release before goes on adding visits of its own; `waypost link
-- rebuild` counts those.
alter table visits
  -- A hash under a key that is thrown away after a day.
  add column visitor text not null default '',
  add column referrer_host text not null default '',
  add column referrer_path text not null default '',
  add column agent text not null default '',
  add column language text not null default '',
  add column country text not null default '',
  -- What the agent told us when the visit was counted.
  add column browser text not null default '',
  add column device text not null default '',
  add column system text not null default '',
  add column bot boolean not null default false;

-- Oldest first, also where two came at the same moment.
create index visits_in_order on visits (link_id, at, id);
drop index visits_by_link;
-- For dropping the oldest alone. Written like this, so that nobody who asks for a link's visits of an hour is tempted to
-- go through everybody's.
create index visits_by_age on visits ((at at time zone 'UTC'));

-- Projections: what was counted from visits, in the same transaction. Hours, days and stretches of 32 days are numbered
-- from 1970-01-01T00:00Z on. `visits` are by people; bots are counted apart.

-- A link's row is also its lock: who counts visits of a link, or counts them again, holds it.
create table visit_totals (
  link_id text collate "C" primary key,
  visits bigint not null default 0,
  visitors bigint not null default 0,
  bots bigint not null default 0
)
-- Room on each page lets a row change where it is, and leaves the index alone.
with (fillfactor = 70);

create table visit_days (
  link_id text collate "C" not null,
  day integer not null,
  visits bigint not null,
  visitors bigint not null,
  bots bigint not null,
  primary key (link_id, day)
)
with (fillfactor = 70);

create table visit_hours (
  link_id text collate "C" not null,
  hour integer not null,
  visits bigint not null,
  bots bigint not null,
  primary key (link_id, hour)
)
with (fillfactor = 70);

-- Visits by people, by hour, day and stretch, for each known value of a dimension.
create table visit_values (
  link_id text collate "C" not null,
  dimension text collate "C" not null,
  -- How many hours a period has: 1, 24 or 768.
  hours smallint not null,
  period integer not null,
  value text collate "C" not null,
  visits bigint not null,
  primary key (link_id, dimension, hours, period, value)
)
with (fillfactor = 70);

-- Who was here on which day already, and in which hours of it: a bit each.
create table visit_visitors (
  link_id text collate "C" not null,
  day integer not null,
  visitor text collate "C" not null,
  hours integer not null,
  primary key (link_id, day, visitor)
)
with (fillfactor = 90);

-- How many came in an hour, by the hour of that day in which they were last here; by the one before it, if in none.
create table visit_arrivals (
  link_id text collate "C" not null,
  hour integer not null,
  last_here integer not null,
  visitors bigint not null,
  primary key (link_id, hour, last_here)
)
with (fillfactor = 70);

-- In microseconds since 1970: before that, events may be gone, and what was counted of them is all there is.
insert into facts values ('visits-forgotten-before', '-9000000000000000000') on conflict do nothing;

insert into visit_hours (link_id, hour, visits, bots)
select link_id, floor(extract(epoch from at) / 3600), count(*), 0 from visits group by 1, 2;
insert into visit_days (link_id, day, visits, visitors, bots)
select link_id, floor(hour / 24.0), sum(visits), 0, 0 from visit_hours group by 1, 2;
insert into visit_totals (link_id, visits)
select link_id, sum(visits) from visit_days group by link_id;
