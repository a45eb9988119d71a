-- The provider says how many requests are left until its count starts again, in `reset` microseconds.

local remaining, reset = given[3], given[4]
if remaining <= 0 then
  stop_until(now + reset)
else
  local slowest = 0
  for _, spacing in ipairs(spacings) do
    slowest = math.max(slowest, spacing[2])
  end
  local left = math.max(floor, slowest * remaining / math.max(1, reset))
  if left < account.pace * NOTEWORTHY then
    account.pace = left
    account.paced_at = now
    account.epoch = account.epoch + 1
  end
end

return settle()
