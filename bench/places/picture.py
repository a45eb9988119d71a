"""How answers grow with the number of places, as a picture that is readable on light and dark pages."""

import math
from collections.abc import Iterator, Sequence

from bench.places.growth import GROWING, Growing, Growth

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 360, 64, 130, 62, 52
# How far lines are from each other at least, when both have their numbers above; and how high a line of text is.
_CLOSE, _LINE = 34, 14
_CLASSES: dict[Growing, str] = {"by id": "first", "box of 100": "second", "nearest 10": "third"}

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
    @media (prefers-color-scheme: dark) {
      text { fill: #b6bfcc; }
      .title { fill: #f1f4f8; }
      .axis, .grid { stroke: #6b7480; }
      .first { stroke: #2dd4bf; } circle.first { fill: #2dd4bf; }
      .second { stroke: #fb923c; } circle.second { fill: #fb923c; }
      .third { stroke: #a5b4fc; } circle.third { fill: #a5b4fc; }
    }
  </style>"""


def draw(growth: Growth) -> str:
    """Both axes by powers of ten: what grows with the number of places would rise by one for one."""
    counts = sorted(growth)
    title = "Time of an answer as places become more"
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    times = [micros for found in growth.values() for micros in found.values()]
    plot = _Plot(counts, math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'  <title id="title">{title}: by id, in a box of about 100, and the nearest 10</title>',
        _STYLE,
        _text(_LEFT, 22, title, "title"),
        _text(_LEFT, 40, "in process, without HTTP; both axes by powers of ten"),
        *plot.frame(),
    ]
    for kind in GROWING:
        lines += plot.line(kind, growth)
    lines += plot.names(growth[counts[-1]])
    lines += [
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 10, "places", anchor="middle"),
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
            yield _text(left - 6, y + 4, f"{10.0**power:g}", anchor="end")
        for count in self._counts:
            yield _text(self._x(count), floor + 18, f"{count:,}", anchor="middle")

    def line(self, kind: Growing, growth: Growth) -> Iterator[str]:
        points = [(self._x(count), self._y(growth[count][kind])) for count in self._counts]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'  <polyline class="{_CLASSES[kind]}" points="{drawn}"/>'
        for count, (x, y) in zip(self._counts, points, strict=True):
            above = [self._y(each) for each in growth[count].values() if each > growth[count][kind]]
            # Below its line, where another one is close above.
            away = 16 if above and y - max(above) < _CLOSE else -8
            yield f'  <circle class="{_CLASSES[kind]}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
            yield _text(x, y + away, f"{growth[count][kind]:.3g}", anchor="middle")

    def names(self, last: dict[Growing, float]) -> Iterator[str]:
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


def _text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    marked = f' class="{kind}"' if kind else ""
    return f'  <text{marked} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{said}</text>'
