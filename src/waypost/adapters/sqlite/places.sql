-- get: one place
select place from places where id = :id and removed_at is null;

-- record: one place, with what its provider says about it
select place, record from places where id = :id and removed_at is null;

-- count: how many there are
select count(*) as places from places where removed_at is null;

-- after: the next places in order of their external id
select external_id, place from places
where external_id > :external_id and removed_at is null
order by external_id limit :limit;

-- records_after: the same, with what their providers say about them
select external_id, place, record from places
where external_id > :external_id and removed_at is null
order by external_id limit :limit;

-- reach: the numbers of the first row and the last
select min(rowid) as first, max(rowid) as last from places;

-- part: the next places in the order in which they lie in the file, as bytes, which need no decoding first
select rowid as number, cast(place as blob) as place from places
where rowid > :after and rowid <= :last and removed_at is null
order by rowid limit :limit;
