"""A small writer of SVG: boxes, chips, arrows and text that is known to fit before it is drawn."""

from dataclasses import dataclass, field
from typing import Literal
from xml.sax.saxutils import escape

# Of DejaVu Sans, in parts of the font's size: it is wider than what most pages have, so that text fits there too.
_WIDTHS = {
    **dict.fromkeys("ijl|'", 0.28),
    **dict.fromkeys(" .,:;-()/ft", 0.39),
    **dict.fromkeys("rs", 0.5),
    **dict.fromkeys("mwMW", 0.98),
    **dict.fromkeys("ABCDGHNOQRSUVX", 0.76),
}
_OTHER_WIDTH, _BOLD = 0.64, 1.1
CHIP_HEIGHT, CHIP_GAP, _CHIP_SIZE, _CHIP_SIDE = 19, 5, 11.5, 7

_STYLE = """\
  <style>
    text { font-family: system-ui, sans-serif; fill: #46525c; }
    .strong { font-weight: 600; fill: #1d2730; }
    .port { font-weight: 600; fill: #9a3412; }
    .page { fill: #fffdf7; }
    .room { fill: #ffffff; stroke: #8a969e; }
    .inside { fill: #ffffff; stroke: #3f8f86; }
    .border { fill: #eef6f4; stroke: #0f766e; stroke-dasharray: 6 4; }
    .band { fill: #f1efe6; }
    .group { fill: none; stroke: #8a969e; stroke-dasharray: 6 4; }
    .chip { fill: #e9f0f5; stroke: #9fb3c1; }
    .socket { fill: #fffdf7; stroke: #c2410c; stroke-width: 1.5; }
    .loop { fill: #d3ece8; stroke: #3f8f86; }
    .thread { fill: #fdecdc; stroke: #d98a52; }
    .child { fill: #ffffff; stroke: #46525c; stroke-dasharray: 3 2; }
    .cell { fill: #ffffff; stroke: #b9b39f; }
    .arrow { stroke: #46525c; stroke-width: 1.5; }
    .head { fill: #46525c; }
  </style>"""


def text_width(said: str, size: float, *, bold: bool = False) -> float:
    """At least as wide as it will be shown."""
    wide = sum(_WIDTHS.get(letter, _OTHER_WIDTH) for letter in said) * size
    return wide * _BOLD if bold else wide


def wrap(said: str, size: float, room: float) -> list[str]:
    """In lines that fit the room."""
    lines: list[str] = []
    for word in said.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def chip_width(said: str) -> float:
    return text_width(said, _CHIP_SIZE) + 2 * _CHIP_SIDE


Anchor = Literal["start", "middle"]


class TooWide(Exception):
    """Something would stick out of its box."""


@dataclass
class Drawing:
    width: int
    height: float
    title: str
    told: str
    _lines: list[str] = field(default_factory=list)

    def box(self, kind: str, x: float, y: float, width: float, height: float, *, round_by: float = 8) -> None:
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self._lines.append(f'  <rect class="{kind}" {place} rx="{round_by:g}"/>')

    def text(
        self, x: float, y: float, said: str, *, room: float, size: float = 12, kind: str = "", anchor: Anchor = "start"
    ) -> None:
        """`y` is the line that letters stand on, and `room` the width that there is."""
        wide = text_width(said, size, bold=bool(kind))
        if wide > min(room, (self.width - x) * (2 if anchor == "middle" else 1)):
            raise TooWide(f"{said!r} does not fit into {room:.0f} at {x:.0f}")
        marked = f' class="{kind}"' if kind else ""
        placed = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}"'
        self._lines.append(f"  <text{marked} {placed}>{escape(said)}</text>")

    def chip(self, x: float, y: float, said: str) -> None:
        wide = chip_width(said)
        self.box("chip", x, y, wide, CHIP_HEIGHT, round_by=CHIP_HEIGHT / 2)
        self.text(x + wide / 2, y + 13.5, said, room=wide, size=_CHIP_SIZE, anchor="middle")

    def socket(self, x: float, y: float) -> None:
        self._lines.append(f'  <circle class="socket" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')

    def arrow_down(self, x: float, y: float, length: float) -> None:
        tip = y + length
        self._lines += [
            f'  <line class="arrow" x1="{x:.1f}" y1="{y:.1f}" x2="{x:.1f}" y2="{tip - 6:.1f}"/>',
            f'  <path class="head" d="M{x - 4.5:.1f} {tip - 8:.1f}h9L{x:.1f} {tip:.1f}z"/>',
        ]

    def render(self) -> str:
        size = f'width="{self.width}" height="{self.height:.0f}" viewBox="0 0 {self.width} {self.height:.0f}"'
        named = 'role="img" aria-labelledby="title told"'
        head = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {named}>',
            f'  <title id="title">{escape(self.title)}</title>',
            f'  <desc id="told">{escape(self.told)}</desc>',
            _STYLE,
            f'  <rect class="page" width="{self.width}" height="{self.height:.0f}" rx="10"/>',
        ]
        return "\n".join([*head, *self._lines, "</svg>"]) + "\n"
