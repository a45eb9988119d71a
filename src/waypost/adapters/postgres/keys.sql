-- add: a new key
insert into keys (id, name, scopes, digest, created_at, revoked_at) values ($1, $2, $3, $4, $5, $6);

-- list: all keys, including revoked ones; few enough that sorting them costs nothing
select * from keys order by created_at, id;

-- find: a key by its id
select * from keys where id = $1;

-- revoke: a key, once
update keys set revoked_at = coalesce(revoked_at, $2) where id = $1 returning id;
