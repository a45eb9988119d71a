"""How times grow with a number, as a picture that is readable on light and dark pages."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 360, 64, 150, 62, 52
# How far lines are from each other at least, when both have their numbers above; and how high a line of text is.
_CLOSE, _LINE = 34, 14
# From here on numbers are written out.
_LARGE = 1000
_CLASSES = ("first", "second", "third", "fourth", "fifth")

Kind = TypeVar("Kind", bound=str)

_STYLE = """\
  <style>
    text { font: 12px system-ui, sans-serif; fill: #3d4450; }
    .title { font-size: 15px; font-weight: 600; fill: #14181f; }
    .axis { stroke: #9aa3b0; stroke-width: 1; }
    .grid { stroke: #9aa3b0; stroke-width: 1; stroke-dasharray: 2 4; }
    polyline { fill: none; stroke-width: 2; }
    .first { stroke: #0f766e; } circle.first { fill: #0f766e; }
    .second { stroke: #c2410c; } circle.second { fill: #c2410c; }
    .third { stroke: #4338ca; } circle.third { fill: #4338ca; }
    .fourth { stroke: #a16207; } circle.fourth { fill: #a16207; }
    .fifth { stroke: #be185d; } circle.fifth { fill: #be185d; }
    @media (prefers-color-scheme: dark) {
      text { fill: #b6bfcc; }
      .title { fill: #f1f4f8; }
      .axis, .grid { stroke: #6b7480; }
      .first { stroke: #2dd4bf; } circle.first { fill: #2dd4bf; }
      .second { stroke: #fb923c; } circle.second { fill: #fb923c; }
      .third { stroke: #a5b4fc; } circle.third { fill: #a5b4fc; }
      .fourth { stroke: #facc15; } circle.fourth { fill: #facc15; }
      .fifth { stroke: #f9a8d4; } circle.fifth { fill: #f9a8d4; }
    }
  </style>"""


@dataclass(frozen=True)
class Words:
    """`counted` is what there are more and more of."""

    title: str
    explained: str
    counted: str


def draw(growth: Mapping[int, Mapping[Kind, float]], words: Words) -> str:
    """Microseconds by number and kind. Both axes by powers of ten: what grows with the number would rise by one for
    one.
    """
    counts = sorted(growth)
    classes = dict(zip(growth[counts[0]], _CLASSES, strict=False))
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    times = [micros for found in growth.values() for micros in found.values()]
    plot = _Plot(counts, math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'  <title id="title">{words.title}: {words.explained}</title>',
        _STYLE,
        _text(_LEFT, 22, words.title, "title"),
        _text(_LEFT, 40, "in process, without HTTP; both axes by powers of ten"),
        *plot.frame(),
    ]
    for kind, drawn in classes.items():
        lines += plot.line(kind, drawn, growth)
    lines += plot.names(growth[counts[-1]])
    lines += [
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10, words.counted, anchor="middle"),
        f'  <text transform="translate(14 {_HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">microseconds</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


class _Plot:
    def __init__(self, counts: Sequence[int], lowest: int, highest: int) -> None:
        """`lowest` and `highest` are powers of ten of microseconds."""
        self._counts = counts
        self._powers = range(lowest, max(highest, lowest + 1) + 1)

    def frame(self) -> Iterator[str]:
        left, right, floor = _LEFT, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        for power in self._powers:
            y = self._y(10.0**power)
            kind = "axis" if power == self._powers[0] else "grid"
            yield f'  <line class="{kind}" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
            yield _text(left - 6, y + 4, f"{10.0**power:,g}", anchor="end")
        for count in self._counts:
            yield _text(self._x(count), floor + 18, f"{count:,}", anchor="middle")

    def line(self, kind: Kind, drawn_as: str, growth: Mapping[int, Mapping[Kind, float]]) -> Iterator[str]:
        points = [(self._x(count), self._y(growth[count][kind])) for count in self._counts]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'  <polyline class="{drawn_as}" points="{drawn}"/>'
        for count, (x, y) in zip(self._counts, points, strict=True):
            above = [self._y(each) for each in growth[count].values() if each > growth[count][kind]]
            # Below its line, where another one is close above.
            away = 16 if above and y - max(above) < _CLOSE else -8
            yield f'  <circle class="{drawn_as}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
            yield _text(x, y + away, _number(growth[count][kind]), anchor="middle")

    def names(self, last: Mapping[Kind, float]) -> Iterator[str]:
        """To the right of the lines' ends, and not one over the other."""
        free = -math.inf
        for kind in sorted(last, key=lambda kind: -last[kind]):
            free = max(free + _LINE, self._y(last[kind]) + 4)
            yield _text(_WIDTH - _RIGHT + 14, free, kind)

    def _x(self, count: int) -> float:
        first, last = math.log10(self._counts[0]), math.log10(self._counts[-1])
        share = (math.log10(count) - first) / (last - first) if last > first else 0.5
        return _LEFT + 30 + share * (_WIDTH - _LEFT - _RIGHT - 40)

    def _y(self, micros: float) -> float:
        lowest, highest = self._powers[0], self._powers[-1]
        share = (math.log10(micros) - lowest) / (highest - lowest)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _number(micros: float) -> str:
    return f"{micros:.3g}" if micros < _LARGE else f"{micros:,.0f}"


def _text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    marked = f' class="{kind}"' if kind else ""
    return f'  <text{marked} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{said}</text>'
