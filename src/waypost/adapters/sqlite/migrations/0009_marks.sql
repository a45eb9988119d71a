-- How far the reading of a shard is, as JSON, while it takes more than one commit.
create table passes (
  shard text primary key,
  state text not null,
  seen_at integer not null
) strict, without rowid;

-- What a pass has seen, and where: negative for a record that was not understood.
create table marks (
  pass text not null,
  external_id text not null,
  position integer not null,
  primary key (pass, external_id)
) strict, without rowid;

-- What the shards of an import came to that have ended: places that they held, and those that went. The row without a
-- shard is the import's lock.
create table removals (
  import text not null,
  shard text not null,
  held integer not null,
  going integer not null,
  judged_at integer not null,
  primary key (import, shard)
) strict, without rowid;

-- With the id in it, places of one number can be gone through in bounded steps.
drop index places_by_area;
create index places_by_area on places (source, area, number, external_id) where removed_at is null;
