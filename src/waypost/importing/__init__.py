"""The first wing: plans, sources, and the engine that brings pages from a provider into the store."""
