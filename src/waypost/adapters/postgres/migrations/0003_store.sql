-- Everything beside jobs and budgets. It only adds, so that the release before goes on working with its jobs in here.
-- Keys are compared byte by byte, as everywhere in the store.

create table facts (
  name text collate "C" primary key,
  value text not null
);

create table imports (
  id text collate "C" primary key,
  source text not null,
  scope text not null,
  status text not null check (status in ('running', 'done', 'failed', 'cancelled')),
  started_at timestamptz not null,
  finished_at timestamptz
);

create table places (
  external_id text collate "C" primary key,
  id uuid not null unique,
  -- JSON as text: jsonb cannot hold every character that a provider may send.
  place text not null,
  record bytea not null,
  content_hash bytea not null,
  requested_at timestamptz not null,
  changed_at timestamptz not null
);

-- Records that could not be understood, one row each however often they come.
create table rejects (
  shard text collate "C" not null,
  record_hash bytea not null,
  record bytea not null,
  reason text not null,
  seen_at timestamptz not null,
  primary key (shard, record_hash)
);

-- For jobs that are kept in another store: how far each shard is, and the highest fence that has written to it.
-- It is the authority: a job store that was flushed or went back in time cannot make an old worker's write count.
create table shards (
  shard text collate "C" primary key,
  fence bigint not null,
  cursor text,
  done boolean not null default false
)
-- Room on each page lets a commit, which moves the cursor alone, stay there and leave the indexes alone.
with (fillfactor = 70);
-- Whoever starts asks for the highest.
create index shards_by_fence on shards (fence);

create table phrase_spaces (
  id integer primary key generated always as identity,
  language text not null,
  theme text not null default '',
  vocabulary text not null,
  key bytea not null,
  next_number bigint not null default 0,
  unique (language, theme, vocabulary)
);

create table links (
  id text collate "C" primary key,
  phrase text not null,
  folded text collate "C" not null unique,
  target text not null,
  language text,
  theme text,
  format text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  disabled boolean not null default false
);
create index links_created on links (created_at, id);

-- Append-only. The id is made where the visit happened, so that shipping one twice counts it once.
create table visits (
  id text collate "C" primary key,
  link_id text collate "C" not null,
  at timestamptz not null
);
create index visits_by_link on visits (link_id, at);
