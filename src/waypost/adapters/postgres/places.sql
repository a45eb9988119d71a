-- get: one place
select place from places where id = $1;

-- count: how many there are
select count(*) as places from places;

-- after: the next places in order of their external id
select external_id, place from places where external_id > $1 order by external_id limit $2;
