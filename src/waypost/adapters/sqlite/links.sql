-- add: a new link, if no other has its folded phrase
insert into links (id, phrase, folded, target, language, theme, format, created_at, expires_at, disabled)
values (:id, :phrase, :folded, :target, :language, :theme, :format, :created_at, :expires_at, :disabled)
on conflict (folded) do nothing;

-- find: a link by its folded phrase
select * from links where folded = :folded;

-- open_space: a space for a vocabulary, unless there is one
insert into phrase_spaces (language, theme, vocabulary, key) values (:language, :theme, :vocabulary, :key)
on conflict do nothing;

-- space: the space for a vocabulary
select id, key from phrase_spaces where language = :language and theme = :theme and vocabulary = :vocabulary;

-- reserve: a block of numbers that nobody else gets
update phrase_spaces set next_number = next_number + :count where id = :id returning next_number - :count as first;

-- add_visit: count a visit once, however often it is shipped
insert into visits (id, link_id, at) values (:id, :link_id, :at) on conflict do nothing;

-- count_visits: of one link
select count(*) as visits from visits where link_id = :link_id;
