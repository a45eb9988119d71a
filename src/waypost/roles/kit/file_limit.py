"""How many files a process may have open (`ulimit -n`), because each connection is one of them."""

import resource

from waypost.telemetry.logs import get_logger

log = get_logger("serve")

# Stores, snapshots and the spool; and connections beyond the bound, as many as requests are worked on.
OTHER_FILES = 1500


def raise_file_limit(wanted: int) -> int:
    """Raises the soft limit to the hard one, and returns it; where the hard one is infinite, to what is wanted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return _finite(soft, wanted)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (_finite(hard, max(soft, wanted)), hard))
    except (ValueError, OSError):
        # macOS has a bound of its own behind an infinite one.
        return _finite(soft, wanted)
    return _finite(hard, wanted)


def room_for_connections(wanted: int) -> int:
    """Returns how many connections there are files for, at most those that are wanted; says what to do about fewer."""
    needed = wanted + OTHER_FILES
    files = raise_file_limit(needed)
    room = max(files - OTHER_FILES, files // 2)
    if room < wanted:
        log.warning(
            "this process may open too few files for listen.connections",
            files=files,
            connections=room,
            advice=f"ulimit -n {needed} (with systemd: LimitNOFILE={needed}), or listen.connections={room}",
        )
    return min(wanted, room)


def _finite(limit: int, wanted: int) -> int:
    return wanted if limit == resource.RLIM_INFINITY else limit
