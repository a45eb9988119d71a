-- For jobs that are kept in another store: how far each shard is, and the highest fence that has written to it.
-- It is the authority: a job store that was flushed or went back in time cannot make an old worker's write count.
create table shards (
  shard text primary key,
  fence integer not null,
  cursor text,
  done integer not null default 0
) strict, without rowid;
