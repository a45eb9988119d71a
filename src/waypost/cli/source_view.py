"""What `waypost source` prints."""

from collections.abc import Mapping
from typing import Any

from waypost.cli.frame import print_line
from waypost.importing.check_source import CheckedSource, Misunderstood
from waypost.importing.list_sources import ListedSource, SourceList


def print_sources(found: SourceList) -> None:
    for source in found.sources:
        _print_source(source)
        print_line()
    known = ", ".join(f"{kind.name} ({kind.package})" for kind in found.kinds if not kind.error)
    print_line(f"kinds: {known}")
    for kind in found.kinds:
        if kind.error:
            print_line(f"the kind {kind.name} ({kind.package}) does not work: {kind.error}")


def print_checked(checked: CheckedSource) -> None:
    _print_source(checked.source)
    _line("first shard", checked.shard)
    _line("first request", checked.first_request)
    if not checked.asked:
        return
    more = "and this is all" if checked.last else "and there are more pages"
    print_line(f"\nthe provider sent {checked.received} records, {more}")
    for place in checked.places:
        _print_place(place)
    for reject in checked.rejects:
        _print_reject(reject)
    if checked.fits is False:
        print_line("\nno record could be understood: correct the [fields] of the file")


def _print_source(source: ListedSource) -> None:
    print_line(source.name)
    _line("kind", source.kind)
    _line("provider", source.provider)
    _line("licence", f"{source.licence.name}; {source.licence.attribution}" if source.licence else None)
    _line("plans by", ", ".join(source.plans))
    _line("budget", source.budget or (None if source.error else "none: no provider is asked"))
    _line("file", source.file)
    _line("error", source.error)


def _print_place(place: Mapping[str, Any]) -> None:
    print_line(f"\n{place['external_id']}")
    for name, value in place.items():
        if name not in {"external_id", "source"}:
            _line(name, _shown(value))


def _print_reject(reject: Misunderstood) -> None:
    print_line(f"\n{reject.external_id or 'a record without an id'} is not a place: {reject.reason}")
    _line("its keys", ", ".join(reject.keys) or "none")


def _line(name: str, value: str | None) -> None:
    if value:
        print_line(f"  {name:<20} {value}")


def _shown(value: Any) -> str:
    import msgspec

    found = msgspec.to_builtins(value)
    if isinstance(found, Mapping):
        return ", ".join(f"{name}: {_shown(each)}" for name, each in found.items())
    if isinstance(found, list | tuple):
        return ", ".join(_shown(each) for each in found)
    return "-" if found is None else str(found)
