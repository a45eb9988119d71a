-- contended: whether somebody else holds a shard that may bring the same places
select exists (
  select 1 from jobs
  where status = 'leased' and substr(shard, 1, length(:prefix)) = :prefix and instr(shard, :period) = 0
) as contended;

-- contended_apart: whether somebody has worked, within the hour, on an unfinished shard that may bring the same places
select exists (
  select 1 from shards
  where done = 0 and seen_at > :now - 3600000000 and substr(shard, 1, length(:prefix)) = :prefix and instr(shard, :period) = 0
) as contended;

-- strike: what the page has is not gone, whoever missed it before
delete from candidates
where external_id in (select value from json_each(:seen)) and requested_at <= :requested_at;

-- gather: what we hold of the numbers that the page covers, and it lacks
insert into candidates (shard, external_id, requested_at)
select :shard, external_id, :requested_at from places
where source = :source and area = :area and number >= :start and (:end is null or number < :end)
  and removed_at is null and requested_at <= :requested_at
  and external_id not in (select value from json_each(:seen))
on conflict do nothing;

-- known: what we have of the page's places already
select external_id, content_hash, requested_at, removed_at, area, version from places
where external_id in (select value from json_each(:external_ids));

-- put: a place that is new, or that the provider changed
insert into places (
  external_id, id, place, record, content_hash, number, requested_at, changed_at, source, area, version
)
values (
  :external_id, :id, :place, :record, :content_hash, :number, :requested_at, :now, :source, :area, :version
)
on conflict (external_id) do update
set place = excluded.place, record = excluded.record, content_hash = excluded.content_hash, number = excluded.number,
    requested_at = excluded.requested_at, changed_at = excluded.changed_at, source = excluded.source,
    area = excluded.area, version = excluded.version, removed_at = null;

-- touch: a place was seen as it is, while somebody else may bring what it was before
update places set requested_at = :requested_at where external_id = :external_id;

-- reject: a record that could not be understood
insert into rejects (shard, record_hash, record, reason, external_id, seen_at)
values (:shard, :record_hash, :record, :reason, :external_id, :now)
on conflict do update set seen_at = excluded.seen_at;

-- going: how many of a shard's candidates would be removed
select count(*) as going
from candidates join places using (external_id)
where candidates.shard = :shard and source = :source and area = :area and removed_at is null
  and places.requested_at <= candidates.requested_at;

-- held: how many places we hold of a shard
select count(*) as held from places
where source = :source and area = :area and number >= :start and (:end is null or number < :end)
  and removed_at is null;

-- remove: a shard's candidates, unless somebody has seen them since
update places
set removed_at = candidates.requested_at, changed_at = :now, version = version + 1
from candidates
where candidates.shard = :shard and candidates.external_id = places.external_id
  and source = :source and area = :area and removed_at is null
  and places.requested_at <= candidates.requested_at
returning places.external_id, version;

-- forget_candidates: the shard has ended
delete from candidates where shard = :shard;

-- remember: an answer, by the question
insert into answers (question, answer, requested_at) values (:question, :answer, :requested_at)
on conflict (question) do update
set answer = excluded.answer, requested_at = excluded.requested_at
where requested_at <= excluded.requested_at;

-- answer: to a question, unless a place in it has changed since
select answer from answers
where question = :question and not exists (
  select 1 from json_each(answer, '$.external_ids') as named
  left join places on places.external_id = named.value
  where places.external_id is null or places.removed_at is not null
    or places.requested_at > answers.requested_at
);

-- event: what happened, for others
insert into outbox (id, name, subject, occurred_at, data) values (:id, :name, :subject, :now, :data);

-- raise_fence: whoever comes with an older fence than the shard has seen changes nothing
insert into shards (shard, fence, seen_at) values (:shard, :fence, :now)
on conflict (shard) do update set fence = excluded.fence, seen_at = excluded.seen_at where fence <= excluded.fence;

-- shard: how far it is
select cursor, done, parts from shards where shard = :shard;

-- ends: how shards stand
select shard, done, parts from shards where shard in (select value from json_each(:shards));

-- move_shard: a page was written
update shards set cursor = :cursor, done = :done, parts = :parts where shard = :shard;

-- highest_fence: that any shard has seen
select coalesce(max(fence), 0) as fence from shards;
