-- A group that has cancelled waits for the job no more. It stays a member, so that what it did can still be told.
alter table job_groups add column cancelled integer not null default 0;
-- Whether anybody else wants a job is asked for each that is cancelled, and for each that is forgotten.
create index job_groups_by_job on job_groups (job_id);
