-- One job by its shard or its id.
--
-- KEYS[1]  the root
-- ARGV[1]  shard or id
-- returns  {id, {field, value, …}}; the inner list is empty when there is no such job

local id = redis.call('HGET', key('shards'), ARGV[1]) or ARGV[1]
return { id, redis.call('HGETALL', key('job:', id)) }
