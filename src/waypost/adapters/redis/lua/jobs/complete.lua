-- Leased → done, for each whose fence is still current.
--
-- KEYS[1]  the root
-- ARGV[1]  JSON: a list of {id, fence, counted}
-- returns  the ids of those that were still ours

local kept = {}
for _, ack in ipairs(cjson.decode(ARGV[1])) do
  local job = held(ack.id, ack.fence)
  if job then
    count(job, ack.counted)
    move(job, 'done', now)
    kept[#kept + 1] = job.id
  end
end
settle()
return kept
