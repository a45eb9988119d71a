-- How many jobs there are of each status.
--
-- KEYS[1]  the root
-- ARGV     the statuses
-- returns  a number for each

local numbers = {}
for place, status in ipairs(ARGV) do
  numbers[place] = redis.call('ZCARD', key('ids:', status))
end
return numbers
