"""What a client accepts: the weight of each choice, and whether it wants HTML, for people, or JSON, for programs."""

_JSON = ("application/geo+json", "application/json")


def wants_html(accept: bytes) -> bool:
    """Whether HTML is asked for by name, and no JSON has more weight, or as much and a place before it."""
    if b"text/html" not in accept:
        return False
    weights: dict[str, float] = {}
    for part in accept.decode("latin-1").lower().split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        quality = next((each for each in parameters if each.startswith("q=")), "")
        weights.setdefault(name, weight(quality))
    named = [name for name in weights if name in {"text/html", *_JSON} and weights[name] > 0]
    # `max` keeps the first of equals, and a dictionary the order of the header.
    return bool(named) and max(named, key=weights.__getitem__) == "text/html"


def weight(parameters: str) -> float:
    """The q of a choice in Accept or Accept-Encoding; what cannot be read counts as refused."""
    name, _, value = parameters.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
