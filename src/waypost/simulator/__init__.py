"""A provider that speaks the Open Charge Map protocol, with invented places, for demos, tests and drills."""
