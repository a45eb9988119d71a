-- How far the reading of a shard is, as JSON, while it takes more than one commit.
create table passes (
  shard text collate "C" primary key,
  state text not null,
  seen_at timestamptz not null
)
-- Room on each page lets a row change where it is, and leaves the index alone.
with (fillfactor = 50);

-- What a pass has seen, and where: negative for a record that was not understood.
create table marks (
  pass uuid not null,
  external_id text collate "C" not null,
  position bigint not null,
  primary key (pass, external_id)
);

-- What the shards of an import came to that have ended: places that they held, and those that went. The row without a
-- shard is the import's lock.
create table removals (
  import text collate "C" not null,
  shard text collate "C" not null,
  held bigint not null,
  going bigint not null,
  judged_at timestamptz not null,
  primary key (import, shard)
);

-- With the id in it, places of one number can be gone through in bounded steps.
drop index places_by_area;
create index places_by_area on places (source, area, number, external_id) where removed_at is null;
