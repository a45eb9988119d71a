-- Where a place lies in the order in which its source reads, so that a refresh finds out what is gone.
alter table places add column source text not null default '';
alter table places add column area text not null default '';
alter table places add column number integer not null default 0;
-- Grows with each change of the place, and so orders what events say about it.
alter table places add column version integer not null default 1;
-- A tombstone: when the request was sent whose answer lacked the place.
alter table places add column removed_at integer;

update places
set source = json_extract(place, '$.source'),
    area = 'country:' || json_extract(place, '$.country'),
    number = cast(substr(external_id, instr(external_id, ':') + 1) as integer)
where json_extract(place, '$.country') is not null;

create index places_by_area on places (source, area, number) where removed_at is null;

-- Places that a refresh of a shard has not found where they were; they go when it ends.
create table candidates (
  shard text not null,
  external_id text not null,
  requested_at integer not null,
  primary key (shard, external_id)
) strict, without rowid;
create index candidates_by_place on candidates (external_id);

-- Events, written with their causes, in the order in which they are relayed.
create table outbox (
  position integer primary key autoincrement,
  id text not null unique,
  name text not null,
  subject text not null,
  occurred_at integer not null,
  data text not null
) strict;

-- Answers that their providers have named, by the question; the places in them.
create table answers (
  question text primary key,
  answer text not null,
  requested_at integer not null
) strict, without rowid;

-- What a shard was split into, for jobs that are kept in another store.
alter table shards add column parts text;
-- When somebody last worked on it.
alter table shards add column seen_at integer not null default 0;
