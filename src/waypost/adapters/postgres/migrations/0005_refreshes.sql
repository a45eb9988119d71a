-- Where a place lies in the order in which its source reads, so that a refresh finds out what is gone.
alter table places
  add column source text collate "C" not null default '',
  add column area text collate "C" not null default '',
  add column number bigint not null default 0,
  -- Grows with each change of the place, and so orders what events say about it.
  add column version bigint not null default 1,
  -- A tombstone: when the request was sent whose answer lacked the place.
  add column removed_at timestamptz;

-- Packing records is most of what the server has to do for a page, and lz4 takes a third of the time of the usual way.
-- A server that does not have it goes on as before.
do $$
begin
  alter table places alter column place set compression lz4, alter column record set compression lz4;
exception when feature_not_supported or syntax_error then
  null;
end
$$;

update places
set source = place::json ->> 'source',
    area = 'country:' || (place::json ->> 'country'),
    number = substring(external_id from '^[a-z0-9-]+:([0-9]{1,18})$')::bigint
where place::json ->> 'country' is not null and external_id ~ '^[a-z0-9-]+:[0-9]{1,18}$';

create index places_by_area on places (source, area, number) where removed_at is null;

-- Places that a refresh of a shard has not found where they were; they go when it ends.
create table candidates (
  shard text collate "C" not null,
  external_id text collate "C" not null,
  requested_at timestamptz not null,
  primary key (shard, external_id)
);
create index candidates_by_place on candidates (external_id);

-- Events, written with their causes.
create table outbox (
  position bigint primary key generated always as identity,
  id uuid not null unique,
  name text not null,
  subject text not null,
  occurred_at timestamptz not null,
  -- JSON as text: jsonb cannot hold every character that a provider may send.
  data text not null
);

-- Answers that their providers have named, by the question; the places in them.
create table answers (
  question text collate "C" primary key,
  answer text not null,
  requested_at timestamptz not null
);

-- What a shard was split into, for jobs that are kept in another store.
alter table shards
  add column parts text[],
  -- When somebody last worked on it.
  add column seen_at timestamptz not null default '-infinity';
