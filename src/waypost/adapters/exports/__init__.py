"""Writing places into files of kinds that need more than the standard library."""
