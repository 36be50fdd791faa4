"""The accuracy gate: main texts of pages of our own, and floors under which no figure may fall.

``NAME.html`` is a page, ``NAME.txt`` its main text, empty for a page that is all template. The
pages were written for this purpose and nothing is tuned to them. ``floors.json`` holds the word F1
that each page and the mean must reach; ``python -m tests.gate`` (``make floors``) raises floors to
what is measured, less `SLACK`, and refuses to lower one.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from websegment_scrapy.extraction import extract
from websegment_scrapy.measure.metrics import word_f1

FOLDER = Path(__file__).parent
FLOORS = FOLDER / "floors.json"
MEAN = "mean of all pages"
SLACK = 0.01
"""What a figure may lose before the gate closes: a word or two, not a paragraph."""


class FloorWouldFall(Exception):
    """Some figure is below its floor; the message names each with its floor."""


def measure(folder: Path = FOLDER) -> dict[str, float]:
    """Return the word F1 of every page, and the mean."""
    figures = {}
    for path in sorted(folder.glob("*.html")):
        gold = path.with_suffix(".txt").read_text("utf-8")
        found = extract(path.read_bytes(), url=f"http://gate.example/{path.stem}")
        figures[path.stem] = word_f1(gold, found.main_text)
    return {**figures, MEAN: sum(figures.values()) / len(figures)}


def read_floors(path: Path = FLOORS) -> dict[str, float]:
    """Read the floors; none where there is no file yet."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def below(floors: dict[str, float], figures: dict[str, float]) -> list[str]:
    """Name the figures that are below their floors, and the floors without a figure."""
    return [
        f"{name}: {figures[name]:.3f} is below its floor {floor:.3f}"
        if name in figures
        else f"{name}: the page is gone, its floor is {floor:.3f}"
        for name, floor in floors.items()
        if figures.get(name, -1.0) < floor
    ]


def raised(floors: dict[str, float], figures: dict[str, float]) -> dict[str, float]:
    """Return the floors that the figures allow; `FloorWouldFall` where one would be lowered."""
    fallen = below(floors, figures)
    if fallen:
        raise FloorWouldFall("\n".join(fallen))
    return {
        name: max(floors.get(name, 0.0), math.floor(1000 * max(figure - SLACK, 0.0)) / 1000)
        for name, figure in figures.items()
    }
