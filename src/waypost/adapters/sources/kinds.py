"""The kinds of sources there are: entry points of the group `waypost.sources`, ours and those of other packages."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from waypost.importing.definitions import BadDefinition, Definition, Make, SourceContext, SourceKind
from waypost.importing.source import Source
from waypost.kernel.configuration import SettingError
from waypost.kernel.errors import WaypostError
from waypost.kernel.suggesting import did_you_mean

GROUP = "waypost.sources"
_FEATURES = ("name", "licence", "provider", "budget_key", "plans", "cuts", "plan", "check", "fetch", "extent", "rest")


@dataclass(frozen=True)
class _Loaded:
    kind: SourceKind
    make: Make | None = None


def kinds() -> list[SourceKind]:
    """Returns all kinds; each is imported, and one that cannot be is listed with its error."""
    return [_load(point).kind for point in _points()]


def make_source(definition: Definition, context: SourceContext) -> Source:
    """Raises BadDefinition, which names the file and what is wrong in it, and SettingError for a missing key."""
    points = {point.name: point for point in _points()}
    if definition.kind not in points:
        raise BadDefinition(
            f"{definition.path}: kind: there is no kind {definition.kind[:40]!r}; there is {', '.join(points)}."
            f"{did_you_mean(definition.kind, points)}"
        )
    loaded = _load(points[definition.kind])
    if loaded.make is None:
        raise BadDefinition(
            f"{definition.path}: the kind {definition.kind} of the package {loaded.kind.package} does not work:"
            f" {loaded.kind.error}"
        )
    source = _call(loaded.make, definition, context)
    missing = [name for name in _FEATURES if not hasattr(source, name)]
    if missing or source.name != context.name:
        what = f"it has no {', '.join(missing)}" if missing else f"it calls itself {source.name!r}"
        raise BadDefinition(
            f"{definition.path}: the kind {definition.kind} made something that is not a source: {what}"
        )
    return source


def _call(make: Make, definition: Definition, context: SourceContext) -> Source:
    try:
        return make(definition.rest, context)
    except SettingError as error:
        raise SettingError(f"{definition.path}: {error}", next_step=error.next_step) from None
    except (ValueError, BadDefinition) as error:
        raise BadDefinition(f"{definition.path}: {error}") from None
    except WaypostError:
        raise
    except Exception as error:
        raise BadDefinition(
            f"{definition.path}: the kind {definition.kind} failed: {type(error).__name__}: {error}"
        ) from error


def _points() -> list[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _load(point: EntryPoint) -> _Loaded:
    package = point.dist.name if point.dist else point.module
    try:
        make = point.load()
    except Exception as error:  # noqa: BLE001 - another package's code; its errors are reported, and the rest works
        return _Loaded(SourceKind(point.name, package, f"{type(error).__name__}: {error}"))
    if not callable(make):
        return _Loaded(SourceKind(point.name, package, f"{point.value} cannot be called"))
    return _Loaded(SourceKind(point.name, package), cast("Make", make))
