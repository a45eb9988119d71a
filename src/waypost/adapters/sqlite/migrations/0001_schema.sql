-- The first schema, by topic. Times are UTC, in microseconds since 1970-01-01T00:00:00Z.

create table facts (
  name text primary key,
  value text not null
) strict;

-- Jobs

-- Fences come from one growing sequence for the whole store.
create table fences (
  last integer not null
) strict;
insert into fences values (0);

create table jobs (
  id text primary key,
  shard text not null unique,
  status text not null check (status in ('pending', 'leased', 'done', 'dead', 'cancelled')),
  lease_owner text,
  lease_until integer,
  fence integer not null default 0,
  attempts integer not null default 0,
  attempts_total integer not null default 0,
  failures integer not null default 0,
  priority integer not null default 0,
  not_before integer not null,
  cursor text,
  counters text not null default '{}',
  last_error_code text,
  last_error_message text,
  last_error_at integer,
  created_at integer not null,
  finished_at integer
) strict;
create index jobs_pending on jobs (priority desc, not_before, id) where status = 'pending';
create index jobs_leased on jobs (id) where status = 'leased';
-- For forgetting the oldest.
create index jobs_ended on jobs (status, finished_at) where finished_at is not null;

-- A group is a set of jobs that somebody waits for, such as an import; a job may be in several.
create table job_groups (
  group_id text not null,
  job_id text not null references jobs on delete cascade,
  -- What the job's counters were when the group began to wait for it.
  counters_before text not null,
  -- A group that has cancelled waits for the job no more. It stays a member, so that what it did can still be told.
  cancelled integer not null default 0,
  primary key (group_id, job_id)
) strict, without rowid;
-- Whether anybody else wants a job is asked for each that is cancelled, and for each that is forgotten.
create index job_groups_by_job on job_groups (job_id);

-- Budgets

-- A budget is one record that is changed as a whole.
create table budget_records (
  name text primary key,
  record blob not null
) strict, without rowid;

-- Imports

create table imports (
  id text primary key,
  source text not null,
  scope text not null,
  status text not null check (status in ('running', 'done', 'failed', 'cancelled')),
  started_at integer not null,
  finished_at integer
) strict;
create index imports_by_age on imports (finished_at);

create table places (
  external_id text primary key,
  id blob not null unique,
  place text not null,
  record blob not null,
  content_hash blob not null,
  requested_at integer not null,
  changed_at integer not null,
  -- Where the place lies in the order in which its source reads, so that a refresh finds out what is gone.
  source text not null default '',
  area text not null default '',
  number integer not null default 0,
  -- Grows with each change of the place, and so orders what events say about it.
  version integer not null default 1,
  -- A tombstone: when the request was sent whose answer lacked the place.
  removed_at integer
) strict;
create index places_by_area on places (source, area, number, external_id) where removed_at is null;

-- Places that a refresh of a shard has not found where they were; they go when it ends.
create table candidates (
  shard text not null,
  external_id text not null,
  requested_at integer not null,
  primary key (shard, external_id)
) strict, without rowid;
create index candidates_by_place on candidates (external_id);

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
create index removals_by_age on removals (judged_at);

-- Records that could not be understood, one row each however often they come.
create table rejects (
  shard text not null,
  record_hash blob not null,
  record blob not null,
  reason text not null,
  seen_at integer not null,
  -- Which place a record would have been, where that much is known: rejects are shown to people.
  external_id text,
  primary key (shard, record_hash)
) strict;
create index rejects_by_age on rejects (seen_at);

-- Answers that their providers have named, by the question; the places in them.
create table answers (
  question text primary key,
  answer text not null,
  requested_at integer not null
) strict, without rowid;
create index answers_by_age on answers (requested_at);

-- For jobs that are kept in another store: how far each shard is, and the highest fence that has written to it.
-- It is the authority: a job store that was flushed or went back in time cannot make an old worker's write count.
create table shards (
  shard text primary key,
  fence integer not null,
  cursor text,
  done integer not null default 0,
  -- What it was split into.
  parts text,
  -- When somebody last worked on it.
  seen_at integer not null default 0
) strict, without rowid;
-- Whoever starts asks for the highest.
create index shards_by_fence on shards (fence);
-- Each page asks whether somebody works on a neighbour.
create index shards_unfinished on shards (shard) where done = 0;

-- Events, written with their causes, in the order in which they are relayed

create table outbox (
  position integer primary key autoincrement,
  id text not null unique,
  name text not null,
  subject text not null,
  occurred_at integer not null,
  data text not null
) strict;

-- Links

create table phrase_spaces (
  id integer primary key,
  language text not null,
  theme text not null default '',
  vocabulary text not null,
  key blob not null,
  next_number integer not null default 0,
  unique (language, theme, vocabulary)
) strict;

create table links (
  id text primary key,
  phrase text not null,
  -- How the phrase reads, and what it looks like: nobody gets another that does.
  folded text not null unique,
  looks text not null,
  target text not null,
  language text,
  theme text,
  format text not null,
  created_at integer not null,
  updated_at integer not null,
  version integer not null default 1,
  title text not null default '',
  -- A JSON array.
  tags text not null default '[]',
  expires_at integer,
  max_visits integer,
  password text,
  forward_query integer not null default 0,
  place_id text,
  -- The id of a key, or local for this machine; empty if nobody owns it.
  owner text not null default '',
  asked text,
  disabled integer not null default 0,
  -- A deleted link stays, so that nobody ever gets its phrase.
  deleted integer not null default 0
) strict;
create unique index links_by_looks on links (looks);
create index links_created on links (created_at, id);
create index links_by_language on links (language, created_at, id) where deleted = 0;
create index links_by_theme on links (language, theme, created_at, id) where deleted = 0;
create index links_by_owner on links (owner, created_at, id) where deleted = 0;
-- Those that may be given to whoever asks for a link to the same target again.
create index links_to_target on links (owner, target, created_at, id)
where deleted = 0 and disabled = 0 and password is null and max_visits is null and expires_at is null;

-- In the order in which links are listed.
create table link_tags (
  tag text not null,
  created_at integer not null,
  id text not null,
  primary key (tag, created_at, id)
) strict, without rowid;

-- Who changed a link, when, and what it was before; there is nothing before its making.
create table link_edits (
  link_id text not null,
  version integer not null,
  at integer not null,
  changed_by text not null,
  before text,
  after text not null,
  primary key (link_id, version)
) strict, without rowid;

-- How many visits of a limited link are taken.
create table link_counters (
  link_id text primary key,
  taken integer not null
) strict, without rowid;

-- What strangers say about links; bounded in size and number.
create table abuse_reports (
  id text primary key,
  link_id text not null,
  at integer not null,
  text text not null,
  closed_at integer,
  closed_by text,
  outcome text
) strict, without rowid;
create index abuse_reports_by_link on abuse_reports (link_id, id);
create index abuse_reports_open on abuse_reports (id) where closed_at is null;

-- Hosts that no link may lead to, and words that no new phrase may have. The fact tells that they have changed.
create table blocks (
  kind text not null,
  value text not null,
  added_at integer not null,
  added_by text not null,
  primary key (kind, value)
) strict, without rowid;
insert into facts values ('blocks-version', '0');

-- Of a key's secret there is only the digest.
create table keys (
  id text primary key,
  name text not null,
  -- A JSON array.
  scopes text not null,
  digest blob not null,
  created_at integer not null,
  revoked_at integer,
  expires_at integer,
  -- Written once a minute at most.
  used_at integer,
  -- The secret before this one, and until when it is valid.
  old_digest blob,
  old_until integer
) strict, without rowid;

-- Visits

-- Append-only. The id is made where the visit happened, so that shipping one twice counts it once.
create table visits (
  id text primary key,
  link_id text not null,
  at integer not null,
  -- A hash under a key that is thrown away after a day.
  visitor text not null default '',
  referrer_host text not null default '',
  referrer_path text not null default '',
  agent text not null default '',
  language text not null default '',
  country text not null default '',
  -- What the agent told us when the visit was counted.
  browser text not null default '',
  device text not null default '',
  system text not null default '',
  bot integer not null default 0
) strict, without rowid;
create index visits_by_link on visits (link_id, at);
create index visits_by_age on visits (at);

-- In microseconds since 1970: before that, events may be gone, and what was counted of them is all there is.
insert into facts values ('visits-forgotten-before', '-9000000000000000000');

-- Projections: what was counted from visits, in the same transaction. Hours, days and stretches of 32 days are numbered
-- from 1970-01-01T00:00Z on. `visits` are by people; bots are counted apart.

create table visit_totals (
  link_id text primary key,
  visits integer not null default 0,
  visitors integer not null default 0,
  bots integer not null default 0,
  -- Visits up to then were erased, and are not counted however late they come.
  erased_until integer
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
