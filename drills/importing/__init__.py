"""`make drill-import`: a fleet imports from a bad provider whose places change, and workers are killed and stopped.

What the provider noted, and what is in the store afterwards, decides whether the promises of importing held.
"""
