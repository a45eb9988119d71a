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

-- raise_fence: whoever comes with an older fence than the shard has seen changes nothing
insert into shards (shard, fence) values (:shard, :fence)
on conflict (shard) do update set fence = excluded.fence where fence <= excluded.fence;

-- shard: how far it is
select cursor, done from shards where shard = :shard;

-- move_shard: a page was written
update shards set cursor = :cursor, done = :done where shard = :shard;

-- highest_fence: that any shard has seen
select coalesce(max(fence), 0) as fence from shards;
