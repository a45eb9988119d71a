-- Both accounts as they are, as lists of names and values; nothing is changed. It needs no arguments but empty ones.

local function pairs_of(map)
  local list = {}
  for name, value in pairs(map) do
    list[#list + 1] = name
    list[#list + 1] = value
  end
  return list
end

local function told(each)
  local line = {}
  for index, waiting in ipairs(each.line) do
    line[index] = { waiting[1], waiting[2], waiting[3] }
  end
  return {
    'born', each.born, 'seq', each.seq, 'seen', each.seen, 'arrivals', pairs_of(each.arrivals), 'penalty', each.penalty,
    'quiet', each.quiet, 'epoch', each.epoch, 'pace', string.format('%.17g', each.pace), 'paced_at', each.paced_at,
    'refusals', each.refusals, 'turns', each.turns, 'line', line, 'members', pairs_of(each.members),
    'last_turn', each.last_turn, 'before_last', each.before_last,
  }
end

return { now, told(read(KEYS[1])), told(read(common_key)) }
