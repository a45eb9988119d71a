-- The provider refused, and asked for a pause, or did not say for how long.

local pause = given[3]
if now >= account.penalty then
  account.pace = math.max(floor, account.pace / 2)
  account.refusals = account.refusals + 1
  account.epoch = account.epoch + 1
  account.paced_at = now
  pause = pause or math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ^ math.min(account.refusals - 1, 20))
end
stop_until(now + (pause or 0))

return settle()
