"""dlt: a pipeline that merges by id into PostgreSQL. `arrow` hands over each record as it came, in tables that need no
normalising; `json` hands over objects, for one JSON column; `nested` leaves everything to dlt.
"""

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import dlt  # type: ignore[import-not-found]  # a peer
import msgspec
import pyarrow as pa
from dlt.sources.helpers import requests  # type: ignore[import-not-found]  # a peer

from bench.importing.asking import Ask, parameters


class _Record(msgspec.Struct, rename={"id": "ID"}):
    id: int


_array = msgspec.json.Decoder(list[msgspec.Raw])
_record = msgspec.json.Decoder(_Record)
_ONE_COLUMN = {"primary_key": "id", "columns": {"record": {"data_type": "json"}}, "max_table_nesting": 0}
_HINTS: dict[str, dict[str, Any]] = {"arrow": _ONE_COLUMN, "json": _ONE_COLUMN, "nested": {"primary_key": "ID"}}


def _item(kind: str, body: bytes) -> tuple[int, Any]:
    """A page in the form that is handed over, and its last id; 0 when it is empty."""
    if kind == "arrow":
        raws = _array.decode(body)
        ids = [_record.decode(raw).id for raw in raws]
        return (ids or [0])[-1], pa.table({"id": ids, "record": [str(raw, "utf-8") for raw in raws]})
    records = msgspec.json.decode(body)
    last = records[-1]["ID"] if records else 0
    return last, records if kind == "nested" else [{"id": each["ID"], "record": each} for each in records]


def _pages(kind: str, url: str, country: str) -> Iterator[Any]:
    session = requests.Client().session
    after = 0
    while True:
        answer = session.get(f"{url}/v3/poi", params=parameters(Ask(country, after)))
        after, item = _item(kind, answer.content)
        if not after:
            return
        yield item


def main(url: str, countries: str, store: str, folder: str, kind: str) -> None:
    # It wants a password, also where the server does not.
    pipeline = dlt.pipeline(
        "bench",
        pipelines_dir=folder,
        destination=dlt.destinations.postgres(store.replace("app@", "app:none@")),
        dataset_name="bench",
    )
    merge = {"disposition": "merge", "strategy": "upsert"}
    resources = [
        dlt.resource(
            _pages(kind, url, country),
            name=f"places_{country}",
            table_name="places",
            write_disposition=merge,
            # What COPY takes.
            file_format="csv",
            parallelized=True,
            **_HINTS[kind],
        )
        for country in countries.split(",")
    ]
    began = time.monotonic()
    pipeline.run(resources)
    seconds = time.monotonic() - began
    with pipeline.sql_client() as client:
        [[places]] = client.execute_sql("select count(*) from places")
    print(json.dumps({"places": places, "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
