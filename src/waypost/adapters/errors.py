"""What goes wrong with stores of any backend; drivers' own errors become these at the border."""

from waypost.kernel.errors import StoreTrouble, TerminalError


class StoreAway(StoreTrouble):
    """The server cannot be reached, or the connection to it broke; what was being done may or may not have happened."""

    told_outside = "the store does not answer"


class StoreBusy(StoreTrouble):
    """Another process held what was needed for too long; nothing was changed."""

    told_outside = "the store is busy"


class StoreFull(StoreTrouble):
    """The disk is full or failing; nothing of the change was kept."""

    told_outside = "the store has no room left"


class StoreRefused(TerminalError):
    """The server is there and refuses us: a wrong password, no such database, or too few rights."""

    told_outside = "the store refuses us"


class StoreTooOld(TerminalError):
    """The store's schema is older than this release needs, and a role does not change it."""

    told_outside = "the store's schema is too old"


class StoreTooNew(TerminalError):
    """A newer release has changed the store in a way that this one cannot work with."""

    told_outside = "the store's schema is too new"
