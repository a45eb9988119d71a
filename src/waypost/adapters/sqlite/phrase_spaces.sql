-- open: a space for a vocabulary, unless there is one
insert into phrase_spaces (language, theme, vocabulary, key) values (:language, :theme, :vocabulary, :key)
on conflict do nothing;

-- space: the space for a vocabulary
select id, key from phrase_spaces where language = :language and theme = :theme and vocabulary = :vocabulary;

-- reserve: a block of numbers that no other process gets; its end may lie past the last that may be given out
update phrase_spaces set next_number = next_number + :count where id = :id and next_number < :most
returning next_number - :count as first;
