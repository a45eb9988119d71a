"""The verb `waypost snapshot diff`."""

from collections import Counter

import click

from waypost.cli.frame import Load, command, print_json, print_line, say, with_json


@command(
    "diff",
    examples=(
        "waypost snapshot diff",
        "waypost snapshot diff 20261114T093640Z-0c1d2e3f 20261115T093640Z-ab4d41cc",
        "waypost snapshot diff --ids | grep ^removed",
    ),
)
@click.argument("old", metavar="[A]", required=False)
@click.argument("new", metavar="[B]", required=False)
@click.option("--ids", is_flag=True, help="Print each place's id, after `added`, `changed` or `removed`.")
@with_json
def diff(load: Load, old: str | None, new: str | None, *, ids: bool, as_json: bool) -> None:
    """What was added, changed and removed from generation A to generation B, counted by place.

    B is the current one unless it is named, and A the one before it. With --json, one document per line: each place
    with its change, and at the end the counts.
    """
    from waypost.cli.progress import counting
    from waypost.serving.differences import differences
    from waypost.serving.overview import before_current
    from waypost.serving.reading.reader import Generation
    from waypost.serving.shelf import Shelf

    shelf = Shelf(load().snapshots)
    before = Generation.open(shelf.find(old) if old else before_current(shelf))
    after = Generation.open(shelf.find(new))
    counts: Counter[str] = Counter(added=0, changed=0, removed=0)
    with counting("places", before.count + after.count) as on_progress:
        for each in differences(before, after, on_progress):
            counts[each.change] += 1
            if as_json:
                print_json(each)
            elif ids:
                print_line(f"{each.change:<7} {each.id}")
    if as_json:
        print_json({"from": before.name, "to": after.name, **counts})
        return
    sentence = ", ".join(f"{count:,} {change}" for change, count in counts.items())
    tell = say if ids else print_line
    tell(f"{sentence} from {before.name} to {after.name}")
