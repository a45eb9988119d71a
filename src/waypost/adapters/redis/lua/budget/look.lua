-- Both accounts as they are; nothing is changed.

return cmsgpack.pack({ now, read(KEYS[1]), read(common_key) })
