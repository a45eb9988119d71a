-- Turns that were granted in an earlier epoch are void.

return read(KEYS[1]).epoch
