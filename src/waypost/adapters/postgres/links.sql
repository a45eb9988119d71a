-- take_turns: processes that add many links do so one after the other, and so never deadlock
select pg_advisory_xact_lock($1);

-- add: new links, except those whose id another link has, or whose phrase reads or looks the same as another's
with brought as materialized (
  select * from unnest($1::text[], $2::uuid[], $3::text[], {arrays}) as brought (after, event_id, data, {columns})
),
added as (
  insert into links ({columns}) select {columns} from brought
  on conflict do nothing
  returning id, created_at
),
written as (
  insert into link_edits (link_id, version, at, changed_by, after)
  select id, version, updated_at, $4, after from brought join added using (id)
),
told as (
  insert into outbox (id, name, subject, occurred_at, data)
  select event_id, $5, id, updated_at, data from brought join added using (id)
),
tagged as (
  insert into link_tags (tag, created_at, id)
  select tag, created_at, id from unnest($6::text[], $7::text[]) as tags (id, tag) join added using (id)
)
select id from added;

-- in_the_way: which links have one of these ids, or a phrase that reads or looks the same
select * from links where id = any($1::text[])
union all select * from links where folded = any($2::text[])
union all select * from links where looks = any($3::text[]);

-- find: links by their folded phrases
select * from links where folded = any($1);

-- get: a link by its id
select * from links where id = $1;

-- hold: a link that no other process can change from here on
select * from links where id = $1 for no key update;

-- edit: what may change of a link
update links set {edited} where id = $1;

-- add_tags: those by which a link is listed
insert into link_tags (tag, created_at, id) select tag, $2, $3 from unnest($1::text[]) as tags (tag);

-- drop_tags: those by which a link was listed
delete from link_tags where tag = any($1::text[]) and created_at = $2 and id = $3;

-- write_history: who changed what
insert into link_edits (link_id, version, at, changed_by, before, after) values ($1, $2, $3, $4, $5, $6);

-- event: what happened, for others
insert into outbox (id, name, subject, occurred_at, data) values ($1, $2, $3, $4, $5);

-- history: what happened to a link
select link_id, version, at, changed_by, before, after from link_edits
where link_id = $1 and version > $2 order by version limit $3;

-- erase_history: of a link
delete from link_edits where link_id = $1;

-- erase_events: of a link, that were not relayed yet
delete from outbox where subject = $1;

-- events: of a link, that were not relayed yet
select id::text as id, name, subject, occurred_at, data from outbox where subject = $1 order by position;

-- page: newest first; the conditions below are put in, and each question mark becomes the next number
select links.* from links where not deleted {conditions}
order by links.created_at desc, links.id desc limit $?;

-- page_by_tag: the same, along a tag's own list
select links.* from link_tags join links using (id) where not deleted {conditions}
order by link_tags.created_at desc, link_tags.id desc limit $?;

-- horizon: where a search for a text stops for now
select links.created_at, links.id from links where not deleted {conditions}
order by links.created_at desc, links.id desc limit 1 offset $?;

-- horizon_by_tag: the same, along a tag's own list
select link_tags.created_at, link_tags.id from link_tags join links using (id) where not deleted {conditions}
order by link_tags.created_at desc, link_tags.id desc limit 1 offset $?;

-- where_until: not past the horizon
and ({list}.created_at, {list}.id) >= ($?, $?)

-- where_tag: with this tag
and link_tags.tag = $?

-- where_after: after the end of a page
and ({list}.created_at, {list}.id) < ($?, $?)

-- where_created_from: made then or later
and {list}.created_at >= $?

-- where_created_to: made before then
and {list}.created_at < $?

-- where_language: drawn in this language
and language = $?

-- where_theme: drawn from this theme
and theme = $?

-- where_owner: made with this key
and owner = $?

-- where_text: that contain this text
and (title ilike $? or target ilike $? or folded like $?)

-- to_target: the newest link that may be given to its owner again
select * from links
where owner = $1 and left(target, 500) = left($2, 500) and target = $2
  and not deleted and not disabled and password is null and max_visits is null and expires_at is null
order by created_at desc, id desc limit 1;

-- count_up: one more visit, unless all are taken
insert into link_counters as counter (link_id, taken) select $1, 1 where $2::bigint > 0
on conflict (link_id) do update set taken = counter.taken + 1 where counter.taken < $2
returning taken;

-- taken: how many visits of a limited link are taken
select taken from link_counters where link_id = $1;
