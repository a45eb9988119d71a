"""The verb `waypost link rebuild`."""

from waypost.cli.frame import Load, command, print_result, with_json


@command("rebuild", examples=("waypost link rebuild", "waypost link rebuild --json"))
@with_json
def rebuild(load: Load, *, as_json: bool) -> None:
    """Count all visits again, for every link. Redirects and counting go on meanwhile.

    Days whose visits were dropped (`visits.retention`) keep their counts.
    """
    from waypost.cli.progress import counting
    from waypost.cli.stores import with_links
    from waypost.sharing.visits.rebuild import rebuild_visits

    settings = load()
    with counting("visits", None) as on_progress:
        rebuilt = with_links(settings, lambda stores: rebuild_visits(stores.visits, on_progress))
    print_result(rebuilt, f"{rebuilt.visits:,} visits counted again in {rebuilt.seconds:.1f} s", as_json=as_json)
