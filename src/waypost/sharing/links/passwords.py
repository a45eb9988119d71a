"""Passwords of links, kept as argon2id. Hashing is slow on purpose, so it belongs in a thread."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import argon2

# What OWASP recommends where memory is shared with much else: 19 MiB and two rounds.
_hasher = argon2.PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
# A caller who sends many passwords waits, instead of taking all cores and much memory.
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="passwords")


def hash_password(password: str) -> str:
    return _hasher.hash(password)


def fits_password(hashed: str, password: str) -> bool:
    try:
        return _hasher.verify(hashed, password)
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False


async def hash_in_thread(password: str) -> str:
    return await asyncio.get_running_loop().run_in_executor(_threads, hash_password, password)
