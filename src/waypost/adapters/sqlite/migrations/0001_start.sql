-- Times are UTC, in microseconds since 1970-01-01T00:00:00Z.

create table facts (
  name text primary key,
  value text not null
) strict;

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

-- A group is a set of jobs that somebody waits for, such as an import; a job may be in several.
create table job_groups (
  group_id text not null,
  job_id text not null references jobs on delete cascade,
  -- what the job's counters were when the group began to wait for it
  counters_before text not null,
  primary key (group_id, job_id)
) strict, without rowid;

create table imports (
  id text primary key,
  source text not null,
  scope text not null,
  status text not null check (status in ('running', 'done', 'failed', 'cancelled')),
  started_at integer not null,
  finished_at integer
) strict;

create table places (
  external_id text primary key,
  id blob not null unique,
  place text not null,
  record blob not null,
  content_hash blob not null,
  requested_at integer not null,
  changed_at integer not null
) strict;

-- Records that could not be understood, one row each however often they come.
create table rejects (
  shard text not null,
  record_hash blob not null,
  record blob not null,
  reason text not null,
  seen_at integer not null,
  primary key (shard, record_hash)
) strict;

create table budgets (
  key text not null,
  limit_name text not null,
  arrival real not null,
  primary key (key, limit_name)
) strict, without rowid;

create table budget_penalties (
  key text primary key,
  until real not null
) strict, without rowid;

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
  folded text not null unique,
  target text not null,
  language text,
  theme text,
  format text not null,
  created_at integer not null,
  expires_at integer,
  disabled integer not null default 0
) strict;
create index links_created on links (created_at, id);

-- Append-only. The id is made where the visit happened, so that shipping one twice counts it once.
create table visits (
  id text primary key,
  link_id text not null,
  at integer not null
) strict, without rowid;
create index visits_by_link on visits (link_id, at);
