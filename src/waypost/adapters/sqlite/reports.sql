-- make_room: the oldest that is closed goes, if there are too many
delete from abuse_reports where id in (
  select id from abuse_reports where closed_at is not null order by id limit 1
)
and (select count(*) from abuse_reports) >= :most;

-- add: a new report, unless there are too many
insert into abuse_reports (id, link_id, at, text)
select :id, :link_id, :at, :text
where (select count(*) from abuse_reports) < :most
  and (select count(*) from abuse_reports where link_id = :link_id and closed_at is null) < :most_of_link;

-- get: a report by its id
select abuse_reports.*, phrase, target, disabled from abuse_reports join links on links.id = link_id
where abuse_reports.id = :id;

-- page: oldest first; a condition is put in
select abuse_reports.*, phrase, target, disabled from abuse_reports join links on links.id = link_id
where abuse_reports.id > :after {conditions}
order by abuse_reports.id limit :limit;

-- where_open: not answered yet
and closed_at is null

-- where_closed: answered
and closed_at is not null

-- where_link: about this link
and link_id = :link_id

-- close: one of a link, or all
update abuse_reports set closed_at = :at, closed_by = :by, outcome = :outcome
where link_id = :link_id and (:id is null or id = :id) and closed_at is null;

-- count_open: how many wait for an answer
select count(*) as reports from abuse_reports where closed_at is null;
