-- add: a new link, unless another has its id, or a phrase that reads or looks the same
insert into links ({columns}) values ({values}) on conflict do nothing;

-- in_the_way: which links have this id, or a phrase that reads or looks the same
select * from links where id = :id
union select * from links where folded = :folded
union select * from links where looks = :looks;

-- find: links by their folded phrases
select * from links where folded in (select value from json_each(:folded));

-- get: a link by its id
select * from links where id = :id;

-- edit: what may change of a link, unless it has changed since
update links set {edited} where id = :id and version = :version - 1;

-- add_tag: one by which a link is listed
insert into link_tags (tag, created_at, id) values (:tag, :created_at, :id);

-- drop_tag: one by which a link was listed
delete from link_tags where tag = :tag and created_at = :created_at and id = :id;

-- write_history: who changed what
insert into link_edits (link_id, version, at, changed_by, before, after)
values (:id, :version, :updated_at, :by, :before, :after);

-- event: what happened, for others
insert into outbox (id, name, subject, occurred_at, data) values (:event_id, :name, :id, :updated_at, :data);

-- history: what happened to a link
select link_id, version, at, changed_by, before, after from link_edits
where link_id = :id and version > :after order by version limit :limit;

-- erase_history: of a link
delete from link_edits where link_id = :id;

-- erase_events: of a link, that were not relayed yet
delete from outbox where subject = :id;

-- events: of a link, that were not relayed yet
select id, name, subject, occurred_at, data from outbox where subject = :id order by position;

-- page: newest first; the conditions below are put in
select links.* from links where deleted = 0 {conditions}
order by links.created_at desc, links.id desc limit :limit;

-- page_by_tag: the same, along a tag's own list
select links.* from link_tags cross join links using (id) where tag = :tag and deleted = 0 {conditions}
order by link_tags.created_at desc, link_tags.id desc limit :limit;

-- horizon: where a search for a text stops for now
select links.created_at, links.id from links where deleted = 0 {conditions}
order by links.created_at desc, links.id desc limit 1 offset :at_a_time;

-- horizon_by_tag: the same, along a tag's own list
select link_tags.created_at, link_tags.id from link_tags cross join links using (id)
where tag = :tag and deleted = 0 {conditions}
order by link_tags.created_at desc, link_tags.id desc limit 1 offset :at_a_time;

-- where_until: not past the horizon
and ({list}.created_at, {list}.id) >= (:until_created_at, :until_id)

-- where_after: after the end of a page
and ({list}.created_at, {list}.id) < (:after_created_at, :after_id)

-- where_created_from: made then or later
and {list}.created_at >= :created_from

-- where_created_to: made before then
and {list}.created_at < :created_to

-- where_language: drawn in this language
and language = :language

-- where_theme: drawn from this theme
and theme = :theme

-- where_owner: made with this key
and owner = :owner

-- where_text: that contain this text
and (title like :text escape '\' or target like :text escape '\' or folded like :folded escape '\')

-- where_text_caseless: that contain this text, whatever the case of letters beyond a to z
and (lowered(title) like :text escape '\' or lowered(target) like :text escape '\' or folded like :folded escape '\')

-- to_target: the newest link that may be given to its owner again
select * from links
where owner = :owner and target = :target
  and deleted = 0 and disabled = 0 and password is null and max_visits is null and expires_at is null
order by created_at desc, id desc limit 1;

-- count_up: one more visit, unless all are taken
insert into link_counters (link_id, taken) select :id, 1 where :most > 0
on conflict (link_id) do update set taken = taken + 1 where taken < :most;

-- taken: how many visits of a limited link are taken
select taken from link_counters where link_id = :id;
