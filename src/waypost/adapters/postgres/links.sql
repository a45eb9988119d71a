-- add: a new link, if no other has its folded phrase
insert into links (id, phrase, folded, target, language, theme, format, created_at, expires_at, disabled)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict (folded) do nothing
returning id;

-- find: a link by its folded phrase
select * from links where folded = $1;

-- open_space: a space for a vocabulary, unless there is one
insert into phrase_spaces (language, theme, vocabulary, key) values ($1, $2, $3, $4)
on conflict (language, theme, vocabulary) do nothing;

-- space: the space for a vocabulary
select id, key from phrase_spaces where language = $1 and theme = $2 and vocabulary = $3;

-- reserve: a block of numbers that nobody else gets
update phrase_spaces set next_number = next_number + $2 where id = $1 returning next_number - $2 as first;
