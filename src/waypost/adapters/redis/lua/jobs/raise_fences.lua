-- New fences will be larger than this one.
--
-- KEYS[1]  the root
-- ARGV[1]  the fence

stamp()
lift_fences(tonumber(ARGV[1]))
