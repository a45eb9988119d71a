-- How much there is to look through in each index that could answer a question.
--
-- KEYS[1]  the root
-- ARGV     for each index: its suffix, and the first and last name to look at as in ZRANGEBYLEX
-- returns  a size for each

local sizes = {}
for place = 1, #ARGV, 3 do
  sizes[#sizes + 1] = redis.call('ZLEXCOUNT', key(ARGV[place]), ARGV[place + 1], ARGV[place + 2])
end
return sizes
