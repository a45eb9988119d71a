-- The next names in an index that is sorted by name.
--
-- KEYS[1]  the root
-- ARGV[1]  suffix of the index
-- ARGV[2]  the first name, as in ZRANGEBYLEX
-- ARGV[3]  the last name, as in ZRANGEBYLEX
-- ARGV[4]  how many at most
-- returns  the names

return redis.call('ZRANGEBYLEX', key(ARGV[1]), ARGV[2], ARGV[3], 'LIMIT', 0, ARGV[4])
