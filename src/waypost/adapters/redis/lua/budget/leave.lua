-- A caller no longer wants its turn. If it was the last that was granted, it is given back.

local turn, line = given[3], {}
for _, waiting in ipairs(account.line) do
  if waiting[1] ~= turn then
    line[#line + 1] = waiting
  end
end
account.line = line
if turn == account.last_turn then
  set_arrivals(account.before_last)
  account.last_turn, account.before_last = 0, {}
end

return settle()
