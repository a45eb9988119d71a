-- Both kinds of page begin with a fenced write, which locks the row until the end. A worker that stops in the middle,
-- with the row in its hands, is thrown out after some seconds: a claim passes over what is locked.

-- now: the server's time
select clock_timestamp() as now;

-- hold_job: move the cursor of a job that is still ours; nobody can claim it from here on
update jobs
set cursor = $3, attempts = 0, failures = 0,
    counters = case when $4::jsonb is null then counters else counters_added(counters, $4::jsonb) end
where id = $1 and fence = $2 and status = 'leased'
returning set_config('idle_in_transaction_session_timeout', '5s', true);

-- hold_shard: a worker with an older fence than the shard has seen changes nothing
insert into shards (shard, fence, seen_at) values ($1, $2, now())
on conflict (shard) do update set fence = excluded.fence, seen_at = now() where shards.fence <= excluded.fence
returning cursor, done, parts, set_config('idle_in_transaction_session_timeout', '5s', true);

-- ends: how shards stand
select shard, done, parts from shards where shard = any($1::text[]);

-- move_shard: a page was written
update shards set cursor = $2, done = $3, parts = $4 where shard = $1;

-- highest_fence: the highest that any shard has seen
select coalesce(max(fence), 0) as fence from shards;

-- contended: whether another worker holds a shard that may bring the same places; few are held, and many have been
select exists (
  select from jobs where status = 'leased' and starts_with(shard || '', $1) and strpos(shard, $2) = 0
) as contended;

-- contended_apart: whether a worker has touched, within the hour, an unfinished shard that may bring the same places
select exists (
  select from shards
  where not done and shard >= $1 and shard < $1 || U&'\+10FFFF'
    and seen_at > now() - interval '1 hour' and strpos(shard, $2) = 0
) as contended;

-- strike: candidates that the page has are not gone, whichever shard missed them
delete from candidates where external_id = any($1::text[]) and requested_at <= $2;

-- pass: how far the reading of a shard is
select state from passes where shard = $1;

-- keep_pass: how far the reading is, until the next commit
insert into passes (shard, state, seen_at) values ($1, $2, now())
on conflict (shard) do update set state = excluded.state, seen_at = excluded.seen_at;

-- forget_pass: the shard is over
delete from passes where shard = $1;

-- marked: what the pass has seen of these before; the limit makes it a look-up for each
select wanted.external_id, position
from unnest($2::text[]) as wanted (external_id)
cross join lateral (
  select position from marks where pass = $1 and marks.external_id = wanted.external_id limit 1
) as seen;

-- mark: what the pass sees; a record that was not understood before may be now
insert into marks (pass, external_id, position)
select $1, external_id, position from unnest($2::text[], $3::bigint[]) as seen (external_id, position)
on conflict (pass, external_id) do update set position = excluded.position;

-- gather: of some places that we hold in a range of numbers, after a given one, those that a page lacks
with held as materialized (
  select number, external_id from places
  where source = $3 and area = $4 and (number, external_id) > ($5, $6)
    and number < coalesce($7, 9223372036854775807) and removed_at is null
  order by number, external_id
  limit $8
),
noted as (
  insert into candidates (shard, external_id, requested_at)
  select $1, held.external_id, $2
  from held
  cross join lateral (select requested_at from places where external_id = held.external_id limit 1) as seen
  where held.external_id not in (select unnest($9::text[])) and seen.requested_at <= $2
  on conflict do nothing
)
select number, external_id, (select count(*) from held) as rows from held
order by number desc, external_id desc
limit 1;

-- sweep: of some places that we hold in a range of numbers, after a given one, those that a pass has not marked
with held as materialized (
  select number, external_id from places
  where source = $3 and area = $4 and (number, external_id) > ($5, $6)
    and number < coalesce($7, 9223372036854775807) and removed_at is null
  order by number, external_id
  limit $8
),
lacking as materialized (
  select held.external_id from held
  left join lateral (
    select true as is_marked from marks where pass = $9 and marks.external_id = held.external_id limit 1
  ) as seen on true
  where is_marked is null
),
noted as (
  insert into candidates (shard, external_id, requested_at)
  select $1, lacking.external_id, $2
  from lacking
  cross join lateral (select requested_at from places where external_id = lacking.external_id limit 1) as seen
  where seen.requested_at <= $2
  on conflict do nothing
)
select number, external_id, (select count(*) from held) as rows from held
order by number desc, external_id desc
limit 1;

-- write: add what is new of a page's places, and change what the provider changed
with known as materialized (
  select brought.*, known.content_hash as known_hash, known.requested_at, known.removed_at, known.area
  from unnest($1::text[], $2::uuid[], $3::text[], $4::bytea[], $5::bytea[], $6::bigint[])
    as brought (external_id, id, place, record, content_hash, number)
  -- The limit makes it a look-up for each; without it the planner may rather read all places there are.
  left join lateral (
    select content_hash, requested_at, removed_at, area from places where external_id = brought.external_id limit 1
  ) as known on true
),
written as (
  insert into places (
    external_id, id, place, record, content_hash, number, requested_at, changed_at, source, area
  )
  select external_id, id, place, record, content_hash, number, $7, now(), $8, $9
  from known
  -- What is unchanged stops here: a conflict locks its row, and that is a write too.
  where known_hash is null or requested_at <= $7 and case
    when removed_at is null then known_hash <> content_hash
    -- That it was missing in one area says nothing about others.
    else area <> $9 or removed_at < $7
  end
  -- Two pages with the same places lock them in the same order, and so never deadlock.
  order by external_id collate "C"
  -- Another worker may have written it a moment ago. What a later request brought stays, however late this page comes.
  on conflict (external_id) do update
  set place = excluded.place, record = excluded.record, content_hash = excluded.content_hash,
      number = excluded.number, requested_at = excluded.requested_at, changed_at = excluded.changed_at,
      source = excluded.source, area = excluded.area, version = places.version + 1, removed_at = null
  where places.requested_at <= excluded.requested_at and case
    when places.removed_at is null then places.content_hash <> excluded.content_hash
    else places.area <> excluded.area or places.removed_at < excluded.requested_at
  end
  -- A row that was there before has been locked by us, and a new one by nobody.
  returning external_id, version, xmax = 0 as is_new
)
select written.external_id, version, is_new or removed_at is not null as is_added
from written join known on known.external_id = written.external_id;

-- Below, a limit makes it a look-up for each, and an array is taken for short: otherwise the planner may rather read
-- all places that there are.

-- touch: places were seen as they are, while another worker may bring what they were before
update places set requested_at = $2
where external_id = any(array(
  select seen.external_id
  from unnest($1::text[]) as wanted (external_id)
  -- In the order in which pages write them.
  cross join lateral (
    select external_id, requested_at, removed_at from places where external_id = wanted.external_id limit 1
    for no key update
  ) as seen
  where requested_at < $2 and removed_at is null
));

-- reject: records that could not be understood
insert into rejects (shard, record_hash, record, reason, external_id, seen_at)
select $1, record_hash, record, reason, external_id, now()
from unnest($2::bytea[], $3::bytea[], $4::text[], $5::text[]) as rejected (record_hash, record, reason, external_id)
on conflict (shard, record_hash) do update set seen_at = excluded.seen_at;

-- next_candidates: how many the next part of a shard's candidates has, where it ends, and how many would be removed
with part as materialized (
  select external_id, requested_at from candidates
  where shard = $1 and external_id > $4
  order by external_id
  limit $5
)
select count(*) as rows, coalesce(max(external_id), '') as external_id,
       count(*) filter (
         where held.source = $2 and held.area = $3 and held.removed_at is null
           and held.requested_at <= part.requested_at
       ) as going
from part
left join lateral (
  select source, area, removed_at, requested_at from places where external_id = part.external_id limit 1
) as held on true;

-- doubt: of a shard's candidates up to one, those that the previous pass has not missed are kept for the next
update candidates set shard = $4
where shard = $1 and external_id > $2 and external_id <= $3
  and not exists (
    select 1 from candidates as before where before.shard = $4 and before.external_id = candidates.external_id
  );

-- remove: a shard's candidates up to one, unless they were seen since
update places
set removed_at = (select requested_at from candidates where shard = $1 and external_id = places.external_id),
    changed_at = now(), version = version + 1
where external_id = any(array(
  select candidates.external_id
  from candidates
  cross join lateral (
    select source, area, removed_at, requested_at from places where external_id = candidates.external_id limit 1
    for no key update
  ) as held
  where shard = $1 and candidates.external_id > $4 and candidates.external_id <= $5
    and source = $2 and area = $3 and removed_at is null
    and held.requested_at <= candidates.requested_at
))
returning external_id, version;

-- forget_candidates: those of a shard, up to one
delete from candidates where shard = $1 and external_id > $2 and external_id <= $3;

-- next_marks: how many there are in the next part of a pass's marks, and where it ends
select count(*) as rows, coalesce(max(external_id), '') as external_id
from (select external_id from marks where pass = $1 and external_id > $2 order by external_id limit $3) as part;

-- clear: a pass's marks, up to one
delete from marks where pass = $1 and external_id > $2 and external_id <= $3;

-- lock_removals: a worker that judges a shard waits for others that judge one of the same import
insert into removals (import, shard, held, going, judged_at) values ($1, '', 0, 0, now())
on conflict (import, shard) do update set judged_at = excluded.judged_at;

-- others: totals of the other shards of an import
select coalesce(sum(held), 0)::bigint as held, coalesce(sum(going), 0)::bigint as going from removals
where import = $1 and shard <> $2;

-- note_removals: totals of a shard
insert into removals (import, shard, held, going, judged_at) values ($1, $2, $3, $4, now())
on conflict (import, shard) do update
set held = excluded.held, going = excluded.going, judged_at = excluded.judged_at;

-- remember: an answer, by its question
insert into answers (question, answer, requested_at) values ($1, $2, $3)
on conflict (question) do update
set answer = excluded.answer, requested_at = excluded.requested_at
where answers.requested_at <= excluded.requested_at;

-- answer: the one to a question, unless a place in it has changed since
select answer, requested_at from answers
where question = $1 and not exists (
  select from json_array_elements_text(answer::json -> 'external_ids') as named (external_id)
  left join lateral (
    select requested_at, removed_at from places where external_id = named.external_id limit 1
  ) as held on true
  where held.requested_at is null or held.removed_at is not null or held.requested_at > answers.requested_at
);

-- unchanged_since: how many of these exist, and were brought by no later request
select count(*) as unchanged
from unnest($1::text[]) as named (external_id)
cross join lateral (
  select requested_at, removed_at from places where external_id = named.external_id limit 1
) as held
where removed_at is null and requested_at <= $2;

-- hold_still: no other process changes these before we have ended; in the order in which pages write them
select count(*) from (
  select held.external_id
  from unnest($1::text[]) as named (external_id)
  cross join lateral (
    select external_id from places where external_id = named.external_id limit 1 for no key update
  ) as held
) as locked;

-- event: what happened, for others
insert into outbox (id, name, subject, occurred_at, data) values ($1, $2, $3, $4, $5);
