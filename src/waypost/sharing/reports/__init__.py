"""Reports of abuse: what visitors say about links, until an administrator has answered."""
