"""`make drill-visits`: clients follow links on several servers, which are killed and stopped all the while.

What the clients were answered, and what is in the store afterwards, decides whether every visit was counted once.
"""
