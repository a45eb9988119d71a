-- add: a new key
insert into keys (id, name, scopes, digest, created_at, revoked_at)
values (:id, :name, :scopes, :digest, :created_at, :revoked_at);

-- list: all keys, including revoked ones
select * from keys order by created_at, id;

-- find: a key by its id
select * from keys where id = :id;

-- revoke: a key, once
update keys set revoked_at = coalesce(revoked_at, :at) where id = :id;
