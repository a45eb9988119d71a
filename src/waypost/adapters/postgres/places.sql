-- get: one place
select place from places where id = $1 and removed_at is null;

-- record: the same, with what its provider says about it
select place, record from places where id = $1 and removed_at is null;

-- count: how many there are
select count(*) as places from places where removed_at is null;

-- after: the next places in order of their external id
select external_id, place from places
where external_id > $1 and removed_at is null
order by external_id limit $2;

-- records_after: the same, with what their providers say about them
select external_id, place, record from places
where external_id > $1 and removed_at is null
order by external_id limit $2;

-- part: the next places of a part in order of their id
select id, place from places
where id > $1 and id <= $2 and removed_at is null
order by id limit $3;
