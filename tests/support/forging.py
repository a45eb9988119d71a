"""Damage that checksums do not tell."""

from pathlib import Path

import msgspec
from xxhash import xxh3_64_hexdigest

from waypost.serving.format import MANIFEST, Manifest, Section, encode_manifest, generation_name


def with_right_checksums(generation: Path, name: str) -> Path:
    """As if the builder had written the damage itself: under another name then, which says the content."""
    content, path = (generation / name).read_bytes(), generation / MANIFEST
    manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    damaged = Section(name, len(content), xxh3_64_hexdigest(content))
    sections = tuple(damaged if section.name == name else section for section in manifest.sections)
    called = generation_name(manifest.created_at, sections, manifest.attribution)
    path.write_bytes(encode_manifest(msgspec.structs.replace(manifest, sections=sections, generation=called)))
    return generation.rename(generation.with_name(called))
