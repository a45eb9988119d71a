"""Links followed and made over HTTP: Waypost beside its peers and a ceiling; what phrases, growth and counts cost."""
