"""The arrivals of each system as a picture, readable on light and dark pages."""

from collections import Counter
from collections.abc import Sequence

from bench.budget.drill import Drill
from support.arrivals.notes import SECOND

_STEP = SECOND // 10
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 52, 12, 58, 44
_PANEL, _GAP = 56, 34
# Bars are cut at so many times the allowed, so that the even ones can be seen beside a burst.
_CUT = 3
_TICK_SECONDS = 5
# How far the next number is at least.
_LABEL = 24

_STYLE = """\
  <style>
    text { font: 12px system-ui, sans-serif; fill: #3d4450; }
    .title { font-size: 15px; font-weight: 600; fill: #14181f; }
    .name { font-weight: 600; fill: #14181f; }
    .axis { stroke: #9aa3b0; stroke-width: 1; }
    .allowed { stroke: #c2410c; stroke-width: 1; stroke-dasharray: 5 3; }
    .ours { fill: #0f766e; }
    .peer { fill: #64748b; }
    .cut { fill: #c2410c; }
    @media (prefers-color-scheme: dark) {
      text { fill: #b6bfcc; }
      .title, .name { fill: #f1f4f8; }
      .axis { stroke: #6b7480; }
      .allowed { stroke: #fb923c; }
      .ours { fill: #2dd4bf; }
      .peer { fill: #94a3b8; }
      .cut { fill: #fb923c; }
    }
  </style>"""


def draw(drills: Sequence[Drill]) -> str:
    """A panel each, one below the other: requests that came in each tenth of a second."""
    setting = drills[0].setting
    height = _TOP + len(drills) * (_PANEL + _GAP) - _GAP + _BOTTOM
    title = f"Arrivals at a provider that allows {setting.rate} a second"
    asked = f"{setting.workers} workers in {setting.processes} processes ask without a pause"
    size = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">',
        f'  <title id="title">{title}: {asked}</title>',
        _STYLE,
        _text(_LEFT, 22, title, "title"),
        _text(_LEFT, 40, f"{asked}; the dashed line is what is allowed"),
    ]
    for number, each in enumerate(drills):
        lines += _panel(each, _TOP + number * (_PANEL + _GAP) + 18)
    middle = _TOP + (height - _TOP - _BOTTOM) / 2
    lines += [
        _text(_LEFT + _plot() / 2, height - 10, "seconds since the first request", anchor="middle"),
        f'  <text transform="translate(14 {middle:.0f}) rotate(-90)" text-anchor="middle">requests in 0.1 s</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _plot() -> int:
    return _WIDTH - _LEFT - _RIGHT


def _panel(drill: Drill, top: float) -> list[str]:
    floor, allowed = top + _PANEL - 18, drill.setting.rate * _STEP / SECOND
    tall = (_PANEL - 18) / (_CUT * allowed)
    right = _LEFT + _plot()
    said = f"{drill.used:.0%} of the rate, at most {drill.most_in_a_second} in a second"
    lines = [
        _text(_LEFT, top - 6, drill.system, "name"),
        _text(right, top - 6, said, anchor="end"),
        *_bars(drill, floor, tall, int(_CUT * allowed)),
        f'  <line class="axis" x1="{_LEFT}" y1="{floor:.1f}" x2="{right}" y2="{floor:.1f}"/>',
        _level(floor - allowed * tall, right),
        _text(_LEFT - 6, floor - allowed * tall + 4, f"{allowed:g}", anchor="end"),
        _text(_LEFT - 6, floor + 4, "0", anchor="end"),
    ]
    for second in range(0, drill.setting.seconds + 1, _TICK_SECONDS):
        at = _LEFT + _plot() * second / drill.setting.seconds
        lines.append(_text(at, floor + 15, str(second), anchor="end" if at >= right else "middle"))
    return lines


def _bars(drill: Drill, floor: float, tall: float, cut: int) -> list[str]:
    first = min(each.came for each in drill.arrivals)
    counted = Counter((each.came - first) // _STEP for each in drill.arrivals)
    wide = _plot() / (drill.setting.seconds * SECOND // _STEP)
    kind = "ours" if drill.system == "waypost" else "peer"
    lines, free = [], 0.0
    for step, count in sorted(counted.items()):
        high, at = min(count, cut) * tall, _LEFT + step * wide
        box = f'x="{at:.1f}" y="{floor - high:.1f}" width="{wide * 0.8:.1f}" height="{high:.1f}"'
        lines.append(f'  <rect class="{kind}" {box}/>')
        if count > cut:
            lines.append(
                f'  <rect class="cut" x="{at:.1f}" y="{floor - high:.1f}" width="{wide * 0.8:.1f}" height="3"/>'
            )
        if count > cut and at >= free:
            lines.append(_text(at + wide + 3, floor - high + 9, f"{count}"))
            free = at + _LABEL
    return lines


def _level(y: float, right: float) -> str:
    return f'  <line class="allowed" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'


def _text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    marked = f' class="{kind}"' if kind else ""
    return f'  <text{marked} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{said}</text>'
