-- The ids of the jobs of shards.
--
-- KEYS[1]  the root
-- ARGV[1]  JSON: a list of shards
-- returns  the ids of those that are known

local ids = {}
for _, shard in ipairs(cjson.decode(ARGV[1])) do
  local id = redis.call('HGET', key('shards'), shard)
  if id then
    ids[#ids + 1] = id
  end
end
return ids
