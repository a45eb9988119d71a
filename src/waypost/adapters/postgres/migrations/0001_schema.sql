-- The first schema, by topic. Keys are compared byte by byte (collate "C"), which is quicker, and lets an index answer
-- how a key begins. JSON is text: jsonb cannot hold every character that a provider may send.

create table facts (
  name text collate "C" primary key,
  value text not null
);

-- Jobs

-- Fences come from one growing sequence for the whole store. It must not cache: a session that hands out numbers it put
-- aside earlier would give a job a smaller fence than it has.
create sequence fences cache 1;

create table jobs (
  id uuid primary key,
  shard text collate "C" not null unique,
  status text not null check (status in ('pending', 'leased', 'done', 'dead', 'cancelled')),
  lease_owner text,
  lease_until timestamptz,
  fence bigint not null default 0,
  attempts integer not null default 0,
  attempts_total integer not null default 0,
  failures integer not null default 0,
  priority integer not null default 0,
  not_before timestamptz not null,
  cursor text,
  counters jsonb not null default '{}',
  last_error_code text,
  last_error_message text,
  last_error_at timestamptz,
  created_at timestamptz not null,
  finished_at timestamptz
)
-- Room on each page lets a renewal stay there and leave every index alone. That is also why no index has the lease end.
with (fillfactor = 70);

create index jobs_pending on jobs (priority desc, not_before, id) where status = 'pending';
create index jobs_leased on jobs (id) where status = 'leased';
-- Few and rare, and each of them is looked for among millions.
create index jobs_dead on jobs (id) where status = 'dead';
create index jobs_cancelled on jobs (shard) where status = 'cancelled';
-- For forgetting the oldest.
create index jobs_ended on jobs (status, finished_at) where finished_at is not null;

-- A group is a set of jobs that somebody waits for, such as an import; a job may be in several.
create table job_groups (
  group_id text not null,
  job_id uuid not null references jobs on delete cascade,
  -- What the job's counters were when the group began to wait for it.
  counters_before jsonb not null,
  -- A group that has cancelled waits for the job no more. It stays a member, so that what it did can still be told.
  cancelled boolean not null default false,
  primary key (group_id, job_id)
);
create index job_groups_by_job on job_groups (job_id);

create function counters_added(counted jsonb, more jsonb) returns jsonb
language sql immutable strict parallel safe
as $$
  select coalesce(jsonb_object_agg(key, total), '{}')
  from (
    select key, sum(value::bigint) as total
    from (select * from jsonb_each_text(counted) union all select * from jsonb_each_text(more)) as each (key, value)
    group by key
  ) as totals
$$;

-- Budgets

-- A budget is one record that is changed as a whole, some times a second: room on its page keeps it there.
create table budget_records (
  name text collate "C" primary key,
  record bytea
)
with (fillfactor = 20);

-- Imports

create table imports (
  id text collate "C" primary key,
  source text not null,
  scope text not null,
  status text not null check (status in ('running', 'done', 'failed', 'cancelled')),
  started_at timestamptz not null,
  finished_at timestamptz
);
create index imports_by_age on imports (finished_at);

create table places (
  external_id text collate "C" primary key,
  id uuid not null unique,
  place text not null,
  record bytea not null,
  content_hash bytea not null,
  requested_at timestamptz not null,
  changed_at timestamptz not null,
  -- Where the place lies in the order in which its source reads, so that a refresh finds out what is gone.
  source text collate "C" not null default '',
  area text collate "C" not null default '',
  number bigint not null default 0,
  -- Grows with each change of the place, and so orders what events say about it.
  version bigint not null default 1,
  -- A tombstone: when the request was sent whose answer lacked the place.
  removed_at timestamptz
);
create index places_by_area on places (source, area, number, external_id) where removed_at is null;

-- Packing records is most of what the server has to do for a page, and lz4 takes a third of the time of the usual way.
-- A server that does not have it packs them in the usual way.
do $$
begin
  alter table places alter column place set compression lz4, alter column record set compression lz4;
exception when feature_not_supported or syntax_error then
  null;
end
$$;

-- Places that a refresh of a shard has not found where they were; they go when it ends.
create table candidates (
  shard text collate "C" not null,
  external_id text collate "C" not null,
  requested_at timestamptz not null,
  primary key (shard, external_id)
);
create index candidates_by_place on candidates (external_id);

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
create index removals_by_age on removals (judged_at);

-- Records that could not be understood, one row each however often they come.
create table rejects (
  shard text collate "C" not null,
  record_hash bytea not null,
  record bytea not null,
  reason text not null,
  seen_at timestamptz not null,
  -- Which place a record would have been, where that much is known: rejects are shown to people.
  external_id text collate "C",
  primary key (shard, record_hash)
);
create index rejects_by_age on rejects (seen_at);

-- Answers that their providers have named, by the question; the places in them.
create table answers (
  question text collate "C" primary key,
  answer text not null,
  requested_at timestamptz not null
);
create index answers_by_age on answers (requested_at);

-- For jobs that are kept in another store: how far each shard is, and the highest fence that has written to it.
-- It is the authority: a job store that was flushed or went back in time cannot make an old worker's write count.
create table shards (
  shard text collate "C" primary key,
  fence bigint not null,
  cursor text,
  done boolean not null default false,
  -- What it was split into.
  parts text[],
  -- When somebody last worked on it.
  seen_at timestamptz not null default '-infinity'
)
-- Room on each page lets a commit, which moves the cursor alone, stay there and leave the indexes alone.
with (fillfactor = 70);
-- Whoever starts asks for the highest.
create index shards_by_fence on shards (fence);
-- Each page asks whether somebody works on a neighbour. No index has the time: it changes with every page.
create index shards_unfinished on shards (shard) where not done;

-- Events, written with their causes

create table outbox (
  position bigint primary key generated always as identity,
  id uuid not null unique,
  name text not null,
  subject text not null,
  occurred_at timestamptz not null,
  data text not null
);

-- Links

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
  -- How the phrase reads, and what it looks like: nobody gets another that does.
  folded text collate "C" not null unique,
  looks text collate "C" not null,
  target text not null,
  language text,
  theme text,
  format text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  version bigint not null default 1,
  title text not null default '',
  -- A JSON array.
  tags text not null default '[]',
  expires_at timestamptz,
  max_visits bigint,
  password text,
  forward_query boolean not null default false,
  place_id text,
  -- The id of a key, or local for this machine; empty if nobody owns it.
  owner text collate "C" not null default '',
  asked text,
  disabled boolean not null default false,
  -- A deleted link stays, so that nobody ever gets its phrase.
  deleted boolean not null default false
);
create unique index links_by_looks on links (looks);
create index links_created on links (created_at, id);
create index links_by_language on links (language, created_at, id) where not deleted;
create index links_by_theme on links (language, theme, created_at, id) where not deleted;
create index links_by_owner on links (owner, created_at, id) where not deleted;
-- Those that may be given to whoever asks for a link to the same target again. An index takes no long values.
create index links_to_target on links (owner, left(target, 500), created_at, id)
where not deleted and not disabled and password is null and max_visits is null and expires_at is null;

-- In the order in which links are listed.
create table link_tags (
  tag text collate "C" not null,
  created_at timestamptz not null,
  id text collate "C" not null,
  primary key (tag, created_at, id)
);

-- Who changed a link, when, and what it was before; there is nothing before its making.
create table link_edits (
  link_id text collate "C" not null,
  version bigint not null,
  at timestamptz not null,
  changed_by text not null,
  before text,
  after text not null,
  primary key (link_id, version)
);

-- How many visits of a limited link are taken. Room on each page lets the counter stay where it is.
create table link_counters (
  link_id text collate "C" primary key,
  taken bigint not null
)
with (fillfactor = 70);

-- What strangers say about links; bounded in size and number.
create table abuse_reports (
  id text collate "C" primary key,
  link_id text collate "C" not null,
  at timestamptz not null,
  text text not null,
  closed_at timestamptz,
  closed_by text,
  outcome text
);
create index abuse_reports_by_link on abuse_reports (link_id, id);
create index abuse_reports_open on abuse_reports (id) where closed_at is null;

-- Hosts that no link may lead to, and words that no new phrase may have. The fact tells that they have changed.
create table blocks (
  kind text collate "C" not null,
  value text collate "C" not null,
  added_at timestamptz not null,
  added_by text not null,
  primary key (kind, value)
);
insert into facts values ('blocks-version', '0');

-- Of a key's secret there is only the digest.
create table keys (
  id text collate "C" primary key,
  name text not null,
  -- A JSON array.
  scopes text not null,
  digest bytea not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  expires_at timestamptz,
  -- Written once a minute at most.
  used_at timestamptz,
  -- The secret before this one, and until when it is valid.
  old_digest bytea,
  old_until timestamptz
);

-- Visits

-- Append-only. The id is made where the visit happened, so that shipping one twice counts it once.
create table visits (
  id text collate "C" primary key,
  link_id text collate "C" not null,
  at timestamptz not null,
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
  bot boolean not null default false
);
-- Oldest first, also where two came at the same moment.
create index visits_in_order on visits (link_id, at, id);
-- For dropping the oldest alone. Written like this, so that nobody who asks for a link's visits of an hour is tempted to
-- go through everybody's.
create index visits_by_age on visits ((at at time zone 'UTC'));

-- In microseconds since 1970: before that, events may be gone, and what was counted of them is all there is.
insert into facts values ('visits-forgotten-before', '-9000000000000000000');

-- Projections: what was counted from visits, in the same transaction. Hours, days and stretches of 32 days are numbered
-- from 1970-01-01T00:00Z on. `visits` are by people; bots are counted apart.

-- A link's row is also its lock: who counts visits of a link, or counts them again, holds it.
create table visit_totals (
  link_id text collate "C" primary key,
  visits bigint not null default 0,
  visitors bigint not null default 0,
  bots bigint not null default 0,
  -- Visits up to then were erased, and are not counted however late they come.
  erased_until timestamptz
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
