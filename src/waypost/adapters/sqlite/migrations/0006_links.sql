-- All that belongs to a link. It only adds, so that the release before goes on working with its own statements.
-- Where it makes a link, what is new has its default, and `looks` and `updated_at` are not known.
alter table links add column looks text;
alter table links add column updated_at integer;
alter table links add column version integer not null default 1;
alter table links add column title text not null default '';
-- A JSON array.
alter table links add column tags text not null default '[]';
alter table links add column max_visits integer;
alter table links add column password text;
alter table links add column forward_query integer not null default 0;
alter table links add column place_id text;
-- The id of a key; empty for one that was made without.
alter table links add column owner text not null default '';
alter table links add column asked text;
-- A deleted link stays, so that nobody ever gets its phrase.
alter table links add column deleted integer not null default 0;

-- Of two that look alike already, the first has the look: what is there stays as it is.
create unique index links_by_looks on links (looks);
update or ignore links
set looks = replace(replace(replace(replace(replace(replace(
  folded, '0', 'o'), '1', 'l'), 'i', 'l'), 'm', 'rn'), 'w', 'vv'), 'd', 'cl');

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

-- Of a key's secret there is only the digest.
create table keys (
  id text primary key,
  name text not null,
  -- A JSON array.
  scopes text not null,
  digest blob not null,
  created_at integer not null,
  revoked_at integer
) strict, without rowid;
