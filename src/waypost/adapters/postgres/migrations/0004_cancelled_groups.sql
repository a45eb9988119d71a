-- A group that has cancelled waits for the job no more. It stays a member, so that what it did can still be told.
alter table job_groups add column cancelled boolean not null default false;
