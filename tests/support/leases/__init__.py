"""Leases used by several clients at once, a record of what each asked and heard, and the laws it must obey."""
