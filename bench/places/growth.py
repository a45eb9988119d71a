"""How an answer's time grows with the number of places, without HTTP: by id, in a box and nearest."""

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Literal, get_args

from bench.places.generate import Written
from bench.places.questions import BOX_LIMIT, NEAREST, Question, questions
from waypost.serving.reading.query import Query
from waypost.serving.reading.reader import Generation, feature_collection
from waypost.serving.shelf import Shelf

Growing = Literal["by id", "box of 100", "nearest 10"]
GROWING: tuple[Growing, ...] = get_args(Growing)
_ROUNDS = 3
_QUESTIONS = 2000

# Microseconds of an answer, by the number of places.
Growth = dict[int, dict[Growing, float]]


def measure_growth(written: Written, data: Path) -> dict[Growing, float]:
    """Microseconds of an answer. Each round asks around the same places and nothing twice: the pages are there, and no
    answer is.
    """
    path = Shelf(data / "snapshots").current()
    assert path
    generation = Generation.open(path)
    generation.warm()
    few = replace(written, sample=written.sample[:: max(1, len(written.sample) // _QUESTIONS)])
    size = len(few.sample)
    asked = questions(few, size * (_ROUNDS + 1))
    rounds = [asked[start : start + size] for start in range(0, len(asked), size)]
    found = {kind: _micros(_asking(generation, kind), rounds) for kind in GROWING}
    generation.close()
    return found


def _micros(ask: Callable[[Question], object], rounds: Sequence[Sequence[Question]]) -> float:
    for each in rounds[0]:
        ask(each)
    return median(_round(ask, each) for each in rounds[1:])


def _round(ask: Callable[[Question], object], asked: Sequence[Question]) -> float:
    began = time.perf_counter()
    for each in asked:
        ask(each)
    return (time.perf_counter() - began) / len(asked) * 1e6


def _asking(generation: Generation, kind: Growing) -> Callable[[Question], object]:
    if kind == "by id":
        return lambda asked: generation.get(uuid.UUID(asked.place_id))
    if kind == "box of 100":
        return lambda asked: feature_collection(generation.select(Query(box=asked.box), BOX_LIMIT))
    return lambda asked: feature_collection(generation.select(Query(near=asked.point), NEAREST))
