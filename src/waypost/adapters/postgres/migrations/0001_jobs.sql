-- Fences come from one growing sequence for the whole store. It must not cache: a session that hands out numbers it put
-- aside earlier would give a job a smaller fence than it has.
create sequence fences cache 1;

create table jobs (
  id uuid primary key,
  -- Keys are compared byte by byte, which is quicker, and lets the index answer how a key begins.
  shard text collate "C" not null unique,
  status text not null check (status in ('pending', 'leased', 'done', 'dead', 'cancelled')),
  lease_owner text,
  lease_until timestamptz,
  fence bigint not null default 0,
  attempts integer not null default 0,
  attempts_total integer not null default 0,
  priority integer not null default 0,
  not_before timestamptz not null,
  cursor text,
  counters jsonb not null default '{}',
  last_error_code text,
  last_error_message text,
  last_error_at timestamptz,
  created_at timestamptz not null,
  finished_at timestamptz
)
-- Room on each page lets a renewal stay there and leave every index alone. That is also why no index has the lease end.
with (fillfactor = 70);

create index jobs_pending on jobs (priority desc, not_before, id) where status = 'pending';
create index jobs_leased on jobs (id) where status = 'leased';
-- Few and rare, and each of them is looked for among millions.
create index jobs_dead on jobs (id) where status = 'dead';
create index jobs_cancelled on jobs (shard) where status = 'cancelled';

-- A group is a set of jobs that somebody waits for, such as an import; a job may be in several.
create table job_groups (
  group_id text not null,
  job_id uuid not null references jobs on delete cascade,
  -- what the job's counters were when the group began to wait for it
  counters_before jsonb not null,
  primary key (group_id, job_id)
);
create index job_groups_by_job on job_groups (job_id);

create function counters_added(counted jsonb, more jsonb) returns jsonb
language sql immutable strict parallel safe
as $$
  select coalesce(jsonb_object_agg(key, total), '{}')
  from (
    select key, sum(value::bigint) as total
    from (select * from jsonb_each_text(counted) union all select * from jsonb_each_text(more)) as each (key, value)
    group by key
  ) as totals
$$;
