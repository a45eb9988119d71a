"""A shortener as people write it: FastAPI, and Redis for links and counts."""

import secrets
import sys

import uvicorn
from fastapi import FastAPI, HTTPException, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel
from redis.asyncio import Redis


class NewLink(BaseModel):
    target: str


def make(url: str) -> FastAPI:
    app = FastAPI()
    redis = Redis.from_url(url, decode_responses=True)

    @app.get("/readyz")
    async def ready() -> Response:
        await redis.ping()
        return Response("ok")

    @app.post("/v1/links", status_code=201)
    async def create(link: NewLink) -> dict[str, str]:
        phrase = secrets.token_urlsafe(6)
        await redis.set(f"link:{phrase}", link.target)
        return {"phrase": phrase, "target": link.target}

    @app.get("/{phrase}")
    async def follow(phrase: str) -> Response:
        target = await redis.get(f"link:{phrase}")
        if target is None:
            raise HTTPException(404)
        await redis.incr(f"visits:{phrase}")
        return RedirectResponse(str(target), status_code=302)

    return app


if __name__ == "__main__":
    uvicorn.run(make(sys.argv[1]), port=int(sys.argv[2]), log_level="warning", access_log=False)
