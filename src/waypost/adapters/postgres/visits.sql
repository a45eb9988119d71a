-- add: count each visit once, however often it is shipped
insert into visits (id, link_id, at)
select id, link_id, at from unnest($1::text[], $2::text[], $3::timestamptz[]) as shipped (id, link_id, at)
-- Two that ship the same visits wait for each other in the same order, and so never for ever.
order by id
on conflict (id) do nothing;

-- count: of one link
select count(*) as visits from visits where link_id = $1;
