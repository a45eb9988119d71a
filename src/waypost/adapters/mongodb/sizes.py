"""What fits into a document. A provider's record that does not fit cannot be kept, and is rejected."""

import msgspec

from waypost.importing.source import Fetched, Page, Reject

# A document may have 16 MiB, names and all.
_MOST_BYTES = 16 * 1024 * 1024 - 64 * 1024
# No record this small makes a place that does not fit: at worst, six bytes stand for one byte of the record.
_SURELY_FITS = 1024 * 1024
# What is kept of a record that was rejected for its size.
_HEAD_BYTES = 1024 * 1024


def refuse_large_records(page: Page) -> Page:
    """Returns the page with records that do not fit among its rejects; what we already have of such a place stays."""
    large = [fetched for fetched in page.fetched if not _fits(fetched)]
    if not large and all(len(reject.record) <= _MOST_BYTES for reject in page.rejects):
        return page
    rejects = [_cut(reject) for reject in page.rejects] + [_rejected(fetched) for fetched in large]
    fetched = tuple(each for each in page.fetched if _fits(each))
    return msgspec.structs.replace(page, fetched=fetched, rejects=tuple(rejects))


def _fits(fetched: Fetched) -> bool:
    if len(fetched.record) <= _SURELY_FITS:
        return True
    return len(fetched.record) + len(msgspec.json.encode(fetched.place)) <= _MOST_BYTES


def _rejected(fetched: Fetched) -> Reject:
    reason = f"with its record of {len(fetched.record)} bytes it is larger than a MongoDB document may be (16 MiB)"
    return Reject(fetched.record[:_HEAD_BYTES], reason, fetched.place.external_id)


def _cut(reject: Reject) -> Reject:
    if len(reject.record) <= _MOST_BYTES:
        return reject
    return msgspec.structs.replace(reject, record=reject.record[:_HEAD_BYTES])
