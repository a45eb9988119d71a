-- add: a new key
insert into keys (id, name, scopes, digest, created_at, revoked_at, expires_at, used_at, old_digest, old_until)
values (:id, :name, :scopes, :digest, :created_at, :revoked_at, :expires_at, :used_at, :old_digest, :old_until);

-- list: all keys, including revoked ones
select * from keys order by created_at, id;

-- find: a key by its id
select * from keys where id = :id;

-- revoke: a key, once
update keys set revoked_at = coalesce(revoked_at, :at) where id = :id;

-- replace_secret: of a key that has the same secret as when it was read
update keys set digest = :digest, expires_at = :expires_at, old_digest = :old_digest, old_until = :old_until
where id = :id and digest = :was and revoked_at is null;

-- note_use: unless one that is not much earlier is known
update keys set used_at = :at where id = :id and (used_at is null or used_at <= :at - 60000000);
