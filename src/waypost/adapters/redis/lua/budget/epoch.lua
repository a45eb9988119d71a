-- The current epoch; turns that were granted in an earlier one are void.

return cmsgpack.pack(read(KEYS[1]).epoch)
