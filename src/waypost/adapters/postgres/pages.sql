-- Both kinds of page begin with a fenced write, which locks the row until the end. A worker that stops in the middle,
-- with the row in its hands, is thrown out after some seconds: a claim passes over what is locked.

-- now: the server's time
select clock_timestamp() as now;

-- hold_job: move the cursor of a job that is still ours; nobody can claim it from here on
update jobs
set cursor = $3, attempts = 0,
    counters = case when $4::jsonb is null then counters else counters_added(counters, $4::jsonb) end
where id = $1 and fence = $2 and status = 'leased'
returning set_config('idle_in_transaction_session_timeout', '5s', true);

-- hold_shard: whoever comes with an older fence than the shard has seen changes nothing
insert into shards (shard, fence) values ($1, $2)
on conflict (shard) do update set fence = excluded.fence where shards.fence <= excluded.fence
returning cursor, done, set_config('idle_in_transaction_session_timeout', '5s', true);

-- move_shard: a page was written
update shards set cursor = $2, done = $3 where shard = $1;

-- highest_fence: that any shard has seen
select coalesce(max(fence), 0) as fence from shards;

-- write: add what is new of a page's places, and change what the provider changed
with written as (
  insert into places (external_id, id, place, record, content_hash, requested_at, changed_at)
  select brought.*, $6, now()
  from unnest($1::text[], $2::uuid[], $3::text[], $4::bytea[], $5::bytea[])
    as brought (external_id, id, place, record, content_hash)
  -- What is unchanged stops here: a conflict locks its row, and that is a write too. The limit makes it a look-up for
  -- each; without it the planner may rather read all places there are.
  left join lateral (
    select content_hash, requested_at from places where external_id = brought.external_id limit 1
  ) as known on true
  where known.content_hash is null or (known.content_hash <> brought.content_hash and known.requested_at <= $6)
  -- Two pages with the same places wait for each other in the same order, and so never for ever.
  order by brought.external_id collate "C"
  -- Somebody else may have written it a moment ago. What a later request brought stands, however late this page comes.
  on conflict (external_id) do update
  set place = excluded.place, record = excluded.record, content_hash = excluded.content_hash,
      requested_at = excluded.requested_at, changed_at = excluded.changed_at
  where places.content_hash <> excluded.content_hash and places.requested_at <= excluded.requested_at
  -- A row that was there before has been locked by us, and a new one by nobody.
  returning xmax = 0 as is_new
)
select count(*) filter (where is_new) as added, count(*) filter (where not is_new) as changed from written;

-- reject: records that could not be understood
insert into rejects (shard, record_hash, record, reason, seen_at)
select $1, record_hash, record, reason, now()
from unnest($2::bytea[], $3::bytea[], $4::text[]) as rejected (record_hash, record, reason)
on conflict (shard, record_hash) do update set seen_at = excluded.seen_at;
