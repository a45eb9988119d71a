-- open: a space for a vocabulary, unless there is one
insert into phrase_spaces (language, theme, vocabulary, key) values ($1, $2, $3, $4)
on conflict (language, theme, vocabulary) do nothing;

-- space: the space for a vocabulary
select id, key from phrase_spaces where language = $1 and theme = $2 and vocabulary = $3;

-- reserve: a block of numbers that no other process gets; its end may lie past the last that may be given out
update phrase_spaces set next_number = next_number + $2 where id = $1 and next_number < $3
returning next_number - $2 as first;
