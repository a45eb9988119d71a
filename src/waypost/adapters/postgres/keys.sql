-- add: a new key
insert into keys (id, name, scopes, digest, created_at, revoked_at, expires_at, used_at, old_digest, old_until)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- list: all keys, including revoked ones; few enough that sorting them costs nothing
select * from keys order by created_at, id;

-- find: a key by its id
select * from keys where id = $1;

-- revoke: a key, once
update keys set revoked_at = coalesce(revoked_at, $2) where id = $1 returning id;

-- replace_secret: of a key that has the same secret as when it was read
update keys set digest = $3, expires_at = $4, old_digest = $5, old_until = $6
where id = $1 and digest = $2 and revoked_at is null
returning id;

-- note_uses: unless one that is not much earlier is known; in one order, so that two processes never deadlock
with noted as materialized (
  select keys.id, uses.at
  from keys join unnest($1::text[], $2::timestamptz[]) as uses (id, at) using (id)
  where keys.used_at is null or keys.used_at <= uses.at - interval '1 minute'
  order by keys.id
  for update of keys
)
update keys set used_at = noted.at from noted where keys.id = noted.id;
