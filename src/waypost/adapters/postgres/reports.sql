-- make_room: the oldest that is closed goes, if there are too many
delete from abuse_reports where id in (
  select id from abuse_reports where closed_at is not null order by id limit 1
)
and (select count(*) from abuse_reports) >= $1;

-- add: a new report, unless there are too many
insert into abuse_reports (id, link_id, at, text)
select $1, $2, $3, $4
where (select count(*) from abuse_reports) < $5
  and (select count(*) from abuse_reports where link_id = $2 and closed_at is null) < $6
returning id;

-- get: a report by its id
select abuse_reports.*, phrase, target, disabled from abuse_reports join links on links.id = link_id
where abuse_reports.id = $1;

-- page: oldest first; a condition is put in
select abuse_reports.*, phrase, target, disabled from abuse_reports join links on links.id = link_id
where abuse_reports.id > $1 and ($3::text is null or link_id = $3) {conditions}
order by abuse_reports.id limit $2;

-- where_open: not answered yet
and closed_at is null

-- where_closed: answered
and closed_at is not null

-- close: one of a link, or all
update abuse_reports set closed_at = $3, closed_by = $4, outcome = $5
where link_id = $1 and ($2::text is null or id = $2) and closed_at is null
returning id;

-- count_open: how many wait for an answer
select count(*) as reports from abuse_reports where closed_at is null;
