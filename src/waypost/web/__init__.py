"""Waypost over HTTP: FastAPI describes and answers, problems are problem+json, pages are plain."""
