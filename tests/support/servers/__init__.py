"""Private servers for tests: each started once a run, on a free port, in a folder of its own, whatever else runs here.

The first test that needs a server starts it; the others of the run, in whichever process, share it and keep apart by a
database or namespace of their own. A supervisor beside each server watches the run itself and ends the server with it,
also when the run is killed.
"""
