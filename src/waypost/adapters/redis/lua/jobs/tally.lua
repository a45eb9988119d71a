-- Where a group stands.
--
-- KEYS[1]  the root
-- ARGV[1]  group
-- returns  {field, number, …}: `status:<status>` is jobs, `counter:<name>` is what was counted

return redis.call('HGETALL', key('tally:', ARGV[1]))
