"""Draws the pictures of the architecture again, from the code as it is."""

from tools.pictures.architecture import draw_architecture
from tools.pictures.modules import ROOT, Modules, read_modules
from tools.pictures.processes import draw_processes

IMAGES = ROOT / "docs" / "images"


def pictures(modules: Modules) -> dict[str, str]:
    """By their files' names."""
    return {"architecture.svg": draw_architecture(modules), "processes.svg": draw_processes(modules)}


def main() -> None:
    for name, drawn in pictures(read_modules()).items():
        path = IMAGES / name
        path.write_text(drawn, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
