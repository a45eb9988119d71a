-- Which place a record would have been, where that much is known: rejects are shown to people.
alter table rejects add column external_id text collate "C";
