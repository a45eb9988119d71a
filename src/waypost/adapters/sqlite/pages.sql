-- contended: whether another worker holds a shard that may bring the same places
select exists (
  select 1 from jobs
  where status = 'leased' and substr(shard, 1, length(:prefix)) = :prefix and instr(shard, :period) = 0
) as contended;

-- contended_apart: whether a worker has touched, within the hour, an unfinished shard that may bring the same places
select exists (
  select 1 from shards
  where done = 0 and shard >= :prefix and shard < :prefix || char(1114111)
    and seen_at > :now - 3600000000 and instr(shard, :period) = 0
) as contended;

-- strike: candidates that the page has are not gone, whichever shard missed them
delete from candidates
where external_id in (select value from json_each(:seen)) and requested_at <= :requested_at;

-- pass: how far the reading of a shard is
select state from passes where shard = :shard;

-- keep_pass: how far the reading is, until the next commit
insert into passes (shard, state, seen_at) values (:shard, :state, :now)
on conflict (shard) do update set state = excluded.state, seen_at = excluded.seen_at;

-- forget_pass: the shard is over
delete from passes where shard = :shard;

-- marked: what the pass has seen of these before
select external_id, position from marks where pass = :pass and external_id in (select value from json_each(:seen));

-- mark: what the pass sees; a record that was not understood before may be now
insert into marks (pass, external_id, position) values (:pass, :external_id, :position)
on conflict do update set position = excluded.position where position < 0;

-- next_held: some places that we hold in a range of numbers, after a given one
select number, external_id from places
where source = :source and area = :area and removed_at is null
  and (number, external_id) > (:number, :external_id) and (:end is null or number < :end)
order by number, external_id
limit :limit;

-- gather: those of these that were not seen, unless a later request has seen them
insert into candidates (shard, external_id, requested_at)
select :shard, external_id, :requested_at from places
where external_id in (select value from json_each(:lacking)) and removed_at is null and requested_at <= :requested_at
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

-- touch: a place was seen as it is, while another worker may bring what it was before
update places set requested_at = :requested_at where external_id = :external_id;

-- reject: a record that could not be understood
insert into rejects (shard, record_hash, record, reason, external_id, seen_at)
values (:shard, :record_hash, :record, :reason, :external_id, :now)
on conflict do update set seen_at = excluded.seen_at;

-- next_candidates: some of a shard's candidates, after a given one, and whether each would be removed
select candidates.external_id, places.external_id is not null as goes
from candidates left join places on places.external_id = candidates.external_id
  and source = :source and area = :area and removed_at is null
  and places.requested_at <= candidates.requested_at
where candidates.shard = :shard and candidates.external_id > :after
order by candidates.external_id
limit :limit;

-- doubt: of a shard's candidates up to one, those that the previous pass has not missed are kept for the next
update candidates set shard = :once
where shard = :shard and external_id > :after and external_id <= :last
  and external_id not in (
    select external_id from candidates where shard = :once and external_id > :after and external_id <= :last
  );

-- remove: a shard's candidates up to one, unless they were seen since
update places
set removed_at = candidates.requested_at, changed_at = :now, version = version + 1
from candidates
where candidates.shard = :shard and candidates.external_id > :after and candidates.external_id <= :last
  and candidates.external_id = places.external_id
  and source = :source and area = :area and removed_at is null
  and places.requested_at <= candidates.requested_at
returning places.external_id, version;

-- forget_candidates: those of a shard, up to one
delete from candidates where shard = :shard and external_id > :after and external_id <= :last;

-- next_marks: how many there are in the next part of a pass's marks, and where it ends
select count(*) as rows, max(external_id) as last
from (select external_id from marks where pass = :pass and external_id > :after order by external_id limit :limit);

-- clear: a pass's marks, up to one
delete from marks where pass = :pass and external_id > :after and external_id <= :last;

-- others: totals of the other shards of an import
select coalesce(sum(held), 0) as held, coalesce(sum(going), 0) as going from removals
where import = :import and shard <> :shard;

-- note_removals: totals of a shard
insert into removals (import, shard, held, going, judged_at) values (:import, :shard, :held, :going, :now)
on conflict (import, shard) do update
set held = excluded.held, going = excluded.going, judged_at = excluded.judged_at;

-- remember: an answer, by its question
insert into answers (question, answer, requested_at) values (:question, :answer, :requested_at)
on conflict (question) do update
set answer = excluded.answer, requested_at = excluded.requested_at
where requested_at <= excluded.requested_at;

-- answer: the one to a question, unless a place in it has changed since
select answer, requested_at from answers
where question = :question and not exists (
  select 1 from json_each(answer, '$.external_ids') as named
  left join places on places.external_id = named.value
  where places.external_id is null or places.removed_at is not null
    or places.requested_at > answers.requested_at
);

-- changed_since: whether any of these is gone, or was brought by a later request
select exists (
  select 1 from json_each(:still) as named
  left join places on places.external_id = named.value
  where places.external_id is null or places.removed_at is not null or places.requested_at > :known_at
) as changed;

-- event: what happened, for others
insert into outbox (id, name, subject, occurred_at, data) values (:id, :name, :subject, :now, :data);

-- raise_fence: a worker with an older fence than the shard has seen changes nothing
insert into shards (shard, fence, seen_at) values (:shard, :fence, :now)
on conflict (shard) do update set fence = excluded.fence, seen_at = excluded.seen_at where fence <= excluded.fence;

-- shard: how far a shard is
select cursor, done, parts from shards where shard = :shard;

-- ends: how shards stand
select shard, done, parts from shards where shard in (select value from json_each(:shards));

-- move_shard: a page was written
update shards set cursor = :cursor, done = :done, parts = :parts where shard = :shard;

-- highest_fence: the highest that any shard has seen
select coalesce(max(fence), 0) as fence from shards;
