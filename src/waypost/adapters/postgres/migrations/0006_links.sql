-- All that belongs to a link. It only adds, so that the release before goes on working with its own statements.
-- Where it makes a link, what is new has its default, and `looks` and `updated_at` are not known.
alter table links
  add column looks text collate "C",
  add column updated_at timestamptz,
  add column version bigint not null default 1,
  add column title text not null default '',
  -- A JSON array.
  add column tags text not null default '[]',
  add column max_visits bigint,
  add column password text,
  add column forward_query boolean not null default false,
  add column place_id text,
  -- The id of a key; empty for one that was made without.
  add column owner text collate "C" not null default '',
  add column asked text,
  -- A deleted link stays, so that nobody ever gets its phrase.
  add column deleted boolean not null default false;

-- Of two that look alike already, the first has the look: what is there stays as it is.
update links set looks = first.looks
from (
  select distinct on (looks) id, looks
  from (
    select id, created_at, replace(replace(replace(replace(replace(replace(
      folded, '0', 'o'), '1', 'l'), 'i', 'l'), 'm', 'rn'), 'w', 'vv'), 'd', 'cl') as looks
    from links
  ) as every
  order by looks, created_at, id
) as first
where links.id = first.id;
create unique index links_by_looks on links (looks);

create index links_by_language on links (language, created_at, id) where not deleted;
create index links_by_theme on links (language, theme, created_at, id) where not deleted;
create index links_by_owner on links (owner, created_at, id) where not deleted;
-- Those that may be given to whoever asks for a link to the same target again. An index takes no longer values than
-- this, and the release before took targets of any length once their letters were encoded.
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

-- Of a key's secret there is only the digest.
create table keys (
  id text collate "C" primary key,
  name text not null,
  -- A JSON array.
  scopes text not null,
  digest bytea not null,
  created_at timestamptz not null,
  revoked_at timestamptz
);
