"""Draws the rooms of the code in their layers, whom each imports, and the ports with the backends behind them."""

from collections.abc import Sequence
from dataclasses import dataclass

from tools.pictures.modules import Modules
from tools.pictures.ports import Port, read_ports
from tools.pictures.rooms import House, Room, read_house
from tools.pictures.svg import CHIP_GAP, Drawing, TooWide, chip_width, text_width, wrap

_WIDTH, _MARGIN, _TOP = 900, 20, 74
# Between two layers there is place for arrows and their labels; between rooms of one layer, for nothing.
_GUTTER, _BESIDE = 27, 14
_INSIDE_MARGIN, _INSIDE_TOP = 16, 34
_SIDE, _RIGHT, _NAME_SIZE, _SIZE, _LINE = 18, 9, 16, 12.5, 17
# A room as wide as the picture has its sentence beside its name.
_WIDE, _NAMES = 600, 120
_PORT_HEIGHT, _PORT_GAP = 43, 24
_LEGEND = 52


@dataclass(frozen=True)
class _Plan:
    """A room of this width: its sentence in lines, and its ports in rows."""

    room: Room
    width: float
    lines: list[str]
    rows: list[list[Port]]

    @property
    def is_wide(self) -> bool:
        return self.width > _WIDE


@dataclass(frozen=True)
class _Layer:
    """Rooms side by side, with their ports at one height."""

    plans: tuple[_Plan, ...]

    @property
    def is_inside(self) -> bool:
        return self.plans[0].room.is_inside

    @property
    def ports_at(self) -> float:
        return max(38 if plan.is_wide else 38 + len(plan.lines) * _LINE for plan in self.plans)

    @property
    def height(self) -> float:
        rows = max(len(plan.rows) for plan in self.plans)
        return self.ports_at + rows * _PORT_HEIGHT + (4 if rows else 0)


def draw_architecture(modules: Modules) -> str:
    house = read_house(modules)
    ports = read_ports(modules, {room.name for layer in house.layers for room in layer if room.is_inside})
    layers = [_Layer(tuple(_plan(room, len(rooms), ports) for room in rooms)) for rooms in house.layers]
    first_inside = next(layer for layer in layers if layer.is_inside)
    tall = sum(layer.height + _GUTTER for layer in layers) - _GUTTER
    height = _TOP + tall + _INSIDE_TOP + _INSIDE_MARGIN + _LEGEND
    drawing = Drawing(_WIDTH, height, "The architecture of Waypost", _told(house, ports))
    _heading(drawing)
    y: float = _TOP
    for layer in layers:
        if layer is first_inside:
            _border(drawing, y, height - _LEGEND - y, house.rule_inside)
            y += _INSIDE_TOP
        _layer(drawing, layer, y)
        y += layer.height + _GUTTER
    _legend(drawing, height - _LEGEND / 2 + 5)
    return drawing.render()


def _plan(room: Room, beside: int, ports: Sequence[Port]) -> _Plan:
    whole = _WIDTH - 2 * _MARGIN - (2 * _INSIDE_MARGIN if room.is_inside else 0)
    width = (whole - (beside - 1) * _BESIDE) / beside
    place = width - _SIDE - _RIGHT - (_NAMES if width > _WIDE else 0)
    return _Plan(room, width, wrap(room.says, _SIZE, place), _rows([p for p in ports if p.room == room.name], width))


def _rows(ports: Sequence[Port], width: float) -> list[list[Port]]:
    """Ports side by side, as many as fit; the longest first, so that few rows are needed."""
    place, rows = width - _SIDE - _RIGHT, list[list[Port]]()
    for port in sorted(ports, key=lambda port: (-_port_width(port), port.name)):
        if _port_width(port) > place:
            raise TooWide(f"{port.name} and its backends do not fit into {port.room}")
        row = next((row for row in rows if _row_width([*row, port]) <= place), None)
        if row is None:
            rows.append([port])
        else:
            row.append(port)
    return rows


def _row_width(row: Sequence[Port]) -> float:
    return sum(map(_port_width, row)) + (len(row) - 1) * _PORT_GAP


def _port_width(port: Port) -> float:
    chips = sum(chip_width(backend) + CHIP_GAP for backend in port.backends) - CHIP_GAP
    return max(text_width(port.name, _SIZE, bold=True), chips)


def _heading(drawing: Drawing) -> None:
    room = _WIDTH - 2 * _MARGIN
    drawing.text(_MARGIN, 34, "Rooms, layers and ports", room=room, size=20, kind="strong")
    said = "A room may import those below it, and no other. Rooms side by side do not know each other."
    drawing.text(_MARGIN, 56, said, room=room, size=13)


def _border(drawing: Drawing, y: float, height: float, rule: str) -> None:
    drawing.box("border", _MARGIN, y, _WIDTH - 2 * _MARGIN, height, round_by=12)
    drawing.text(_WIDTH / 2, y + 22, rule, room=_WIDTH / 2, size=13, kind="strong", anchor="middle")


def _layer(drawing: Drawing, layer: _Layer, y: float) -> None:
    x = float(_MARGIN + (_INSIDE_MARGIN if layer.is_inside else 0))
    for plan in layer.plans:
        drawing.box("inside" if layer.is_inside else "room", x, y, plan.width, layer.height)
        _sentence(drawing, plan, x + _SIDE, y + 24)
        for number, row in enumerate(plan.rows):
            _port_row(drawing, row, x, y + layer.ports_at + number * _PORT_HEIGHT)
        if uses := plan.room.uses:
            drawing.arrow_down(x + _SIDE + 6, y + layer.height, _GUTTER - 3)
            drawing.text(x + _SIDE + 18, y + layer.height + 17, ", ".join(uses), room=plan.width - 2 * _SIDE)
        x += plan.width + _BESIDE


def _sentence(drawing: Drawing, plan: _Plan, x: float, y: float) -> None:
    place = plan.width - _SIDE - _RIGHT
    drawing.text(x, y, plan.room.name, room=place, size=_NAME_SIZE, kind="strong")
    right, down = (_NAMES, 0) if plan.is_wide else (0, 20)
    for number, line in enumerate(plan.lines):
        drawing.text(x + right, y + down + number * _LINE, line, room=place - right, size=_SIZE)


def _port_row(drawing: Drawing, row: Sequence[Port], x: float, y: float) -> None:
    """The first port's socket is on the wall of its room."""
    at = x + _SIDE
    for port in row:
        drawing.socket(x if port is row[0] else at - 11, y + 10)
        _port(drawing, port, at, y)
        at += _port_width(port) + _PORT_GAP


def _port(drawing: Drawing, port: Port, x: float, y: float) -> None:
    drawing.text(x, y + 14, port.name, room=_port_width(port), size=_SIZE, kind="port")
    for backend in port.backends:
        drawing.chip(x, y + 20, backend)
        x += chip_width(backend) + CHIP_GAP


def _legend(drawing: Drawing, y: float) -> None:
    drawing.arrow_down(_MARGIN + 24, y - 16, 20)
    drawing.text(_MARGIN + 36, y, "imports these rooms (and may import what they do)", room=340)
    drawing.socket(_MARGIN + 384, y - 4)
    drawing.text(_MARGIN + 395, y, "a port, and the backends behind it", room=250)


def _told(house: House, ports: Sequence[Port]) -> str:
    layers = "; ".join(" | ".join(room.name for room in layer) for layer in house.layers)
    behind = "; ".join(f"{port.name}: {', '.join(port.backends)}" for port in ports)
    return f"Layers from top to bottom: {layers}. Ports and their backends: {behind}."
