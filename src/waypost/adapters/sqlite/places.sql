-- known: what we have of a place already
select content_hash, requested_at from places where external_id = :external_id;

-- add: a place that is new
insert into places (external_id, id, place, record, content_hash, requested_at, changed_at)
values (:external_id, :id, :place, :record, :content_hash, :requested_at, :now);

-- change: a place that the provider changed
update places
set place = :place, record = :record, content_hash = :content_hash, requested_at = :requested_at, changed_at = :now
where external_id = :external_id;

-- reject: a record that could not be understood
insert into rejects (shard, record_hash, record, reason, seen_at)
values (:shard, :record_hash, :record, :reason, :now)
on conflict do update set seen_at = excluded.seen_at;

-- get: one place
select place from places where id = :id;

-- count: how many there are
select count(*) as places from places;

-- after: the next places in order of their external id
select external_id, place from places where external_id > :external_id order by external_id limit :limit;
