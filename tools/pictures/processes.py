"""Draws the kinds of process, the threads in each, and below them what they share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.pictures.modules import Modules
from tools.pictures.ports import Port, read_ports
from tools.pictures.process_check import TableWrong, differences
from tools.pictures.process_table import CHILDREN, KINDS, SERVE_ALL, SHARED, THREADS, Kind, Shared
from tools.pictures.rooms import read_house
from tools.pictures.svg import CHIP_GAP, Drawing, chip_width, text_width, wrap

_WIDTH, _MARGIN, _BESIDE = 900, 20, 7
_COLUMN = (_WIDTH - 2 * _MARGIN - (len(KINDS) - 1) * _BESIDE) / len(KINDS)
_TOP, _SIDE, _SIZE, _LINE = 106, 8, 11.5, 15
_THREADS_AT, _THREAD_GAP, _PILL_SIDE = 83, 5, 6
_BAND_GAP, _CELLS_AT, _CELL_GAP, _NAMES = 9, 30, 7, 102
_LEGEND = 44
_SERVE_ALL = "serve all: both in one process"
# Rows of the cards, each at the same height in all of them.
_LOOP, _POOL = "event loop", "thread pool"
_ROWS = (_LOOP, *THREADS, _POOL, *CHILDREN)


@dataclass(frozen=True)
class _Pill:
    kind: str
    name: str
    says: str = ""

    @property
    def lines(self) -> list[str]:
        return [self.name, *wrap(self.says, _SIZE, _COLUMN - 10 - 2 * _PILL_SIDE)]

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + 8


def draw_processes(modules: Modules) -> str:
    """Raises TableWrong when the code says something else."""
    if wrong := differences(modules):
        raise TableWrong("; ".join(wrong))
    house = read_house(modules)
    ports = read_ports(modules, {room.name for layer in house.layers for room in layer if room.is_inside})
    rows = _rows_at()
    cards = rows["end"]
    bands_at = _TOP + cards + 66
    height = bands_at + sum(_band_height(shared) + _BAND_GAP for shared in SHARED) + _LEGEND
    drawing = Drawing(_WIDTH, height, "The processes of Waypost, their threads, and what they share", _told())
    _heading(drawing, bands_at)
    for kind in KINDS:
        _card(drawing, kind, cards, rows)
    _serve_all(drawing, cards)
    y = bands_at
    for shared in SHARED:
        _band(drawing, shared, [port for port in ports if port.name in shared.ports], y)
        y += _band_height(shared) + _BAND_GAP
    _legend(drawing, height - _LEGEND / 2 + 2)
    return drawing.render()


def _rows_at() -> dict[str, float]:
    """How far below a card's top each row begins, and where the card ends."""
    at, y = {}, float(_THREADS_AT)
    for row in _ROWS:
        at[row] = y
        y += max(pills[row].height for pills in map(_pills, KINDS) if row in pills) + _THREAD_GAP
    return {**at, "end": y + 1}


def _x(title: str) -> float:
    return _MARGIN + [kind.title for kind in KINDS].index(title) * (_COLUMN + _BESIDE)


def _heading(drawing: Drawing, bands_at: float) -> None:
    room = _WIDTH - 2 * _MARGIN
    drawing.text(_MARGIN, 34, "Processes, threads and what they share", room=room, size=20, kind="strong")
    said = "Any number of each may run (of up, one for each data folder). They meet only in what they share."
    drawing.text(_MARGIN, 56, said, room=room, size=13)
    drawing.text(_MARGIN, bands_at - 32, "Shared, and what each does with it", room=room, size=15, kind="strong")
    for kind in KINDS:
        drawing.text(_x(kind.title) + _COLUMN / 2, bands_at - 9, kind.title, room=_COLUMN, anchor="middle")


def _card(drawing: Drawing, kind: Kind, height: float, rows: Mapping[str, float]) -> None:
    x, place = _x(kind.title), _COLUMN - 2 * _SIDE
    drawing.box("room", x, _TOP, _COLUMN, height)
    drawing.text(x + _SIDE, _TOP + 22, kind.title, room=_COLUMN - _SIDE, size=14, kind="strong")
    for number, line in enumerate(wrap(kind.says, _SIZE, place)):
        drawing.text(x + _SIDE, _TOP + 40 + number * _LINE, line, room=place, size=_SIZE)
    for row, pill in _pills(kind).items():
        _draw_pill(drawing, pill, x + 5, _TOP + rows[row])


def _pills(kind: Kind) -> dict[str, _Pill]:
    """By their rows."""
    pills = {_LOOP: _Pill("loop", _LOOP)}
    pills |= {name: _Pill("thread", name, THREADS[name]) for name in kind.threads}
    pills |= {_POOL: _Pill("thread", _POOL, kind.pool)} if kind.pool else {}
    return pills | {module: _Pill("child", *CHILDREN[module]) for module in kind.children}


def _draw_pill(drawing: Drawing, pill: _Pill, x: float, y: float) -> None:
    wide = _COLUMN - 10
    drawing.box(pill.kind, x, y, wide, pill.height, round_by=6)
    for number, line in enumerate(pill.lines):
        marked = "" if number else "strong"
        place = wide - _PILL_SIDE
        drawing.text(x + _PILL_SIDE, y + 15 + number * _LINE, line, room=place, size=_SIZE, kind=marked)


def _serve_all(drawing: Drawing, height: float) -> None:
    first, last = map(_x, SERVE_ALL)
    width = last + _COLUMN - first
    drawing.box("group", first - 3.5, _TOP - 26, width + 7, height + 30, round_by=10)
    drawing.text(first + width / 2, _TOP - 9, _SERVE_ALL, room=width, anchor="middle")


def _band(drawing: Drawing, shared: Shared, ports: Sequence[Port], y: float) -> None:
    whole = _WIDTH - 2 * _MARGIN
    drawing.box("band", _MARGIN, y, whole, _band_height(shared))
    drawing.text(_MARGIN + _SIDE, y + 20, shared.name, room=_NAMES, size=14, kind="strong")
    backends = list(dict.fromkeys(backend for port in ports for backend in port.backends))
    chips = sum(chip_width(name) + CHIP_GAP for name in backends)
    drawing.text(_MARGIN + _NAMES, y + 20, shared.says, room=whole - _NAMES - chips - _SIDE)
    x = _WIDTH - _MARGIN - _SIDE + CHIP_GAP - chips
    for name in backends:
        drawing.chip(x, y + 6, name)
        x += chip_width(name) + CHIP_GAP
    for title, said in shared.cells.items():
        _cell(drawing, said, _x(title), y + _CELLS_AT, _cells_height(shared))


def _band_height(shared: Shared) -> float:
    return _CELLS_AT + _cells_height(shared) + _CELL_GAP


def _cells_height(shared: Shared) -> float:
    return max(len(_cell_lines(said)) for said in shared.cells.values()) * _LINE + 9


def _cell_lines(said: str) -> list[str]:
    return wrap(said, _SIZE, _COLUMN - 10 - 2 * 4)


def _cell(drawing: Drawing, said: str, x: float, y: float, height: float) -> None:
    drawing.box("cell", x + 5, y, _COLUMN - 10, height, round_by=6)
    lines = _cell_lines(said)
    top = y + (height - len(lines) * _LINE) / 2 + 11.5
    for number, line in enumerate(lines):
        drawing.text(x + _COLUMN / 2, top + number * _LINE, line, room=_COLUMN - 14, size=_SIZE, anchor="middle")


def _legend(drawing: Drawing, y: float) -> None:
    x: float = _MARGIN
    for kind, said in (
        ("loop", "the main thread"),
        ("thread", "threads beside it (sqlite: where that is the store)"),
        ("child", "child processes, by default one for each core"),
    ):
        wide = text_width(said, 12)
        drawing.box(kind, x, y - 11, 22, 14, round_by=4)
        drawing.text(x + 29, y, said, room=wide)
        x += 29 + wide + 24


def _told() -> str:
    kinds = "; ".join(
        f"{kind.title} ({kind.says}): {', '.join(pill.name for pill in _pills(kind).values())}" for kind in KINDS
    )
    shared = "; ".join(
        f"{shared.name}: {', '.join(f'{title} {said}' for title, said in shared.cells.items())}" for shared in SHARED
    )
    return f"Kinds of process and what runs in them: {kinds}; {_SERVE_ALL}. What they share: {shared}."
