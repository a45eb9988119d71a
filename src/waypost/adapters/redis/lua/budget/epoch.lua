-- Turns that were granted in an earlier epoch are void.

return cmsgpack.pack(read(KEYS[1]).epoch)
