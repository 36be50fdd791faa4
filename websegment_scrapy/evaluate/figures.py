"""The GCuts paper's figures 2(a) and 3 as PNG.

Drawing needs matplotlib (``pip install websegment-scrapy[plot]``), which nothing else does: it
is no dependency of a crawler.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.exceptions import WebsegmentError

if TYPE_CHECKING:
    from pathlib import Path

    from websegment_scrapy.evaluate.segmentation import SegmentationResult

__all__ = ["draw_figures", "need_matplotlib"]


class NoMatplotlib(WebsegmentError):
    """Figures were asked for where matplotlib is not installed."""


def need_matplotlib(option: str) -> None:
    """Fail before anything is measured if the figures of an option cannot be drawn."""
    if find_spec("matplotlib") is None:
        raise NoMatplotlib(f"{option} needs matplotlib: pip install 'websegment-scrapy[plot]'")


def draw_figures(result: SegmentationResult, folder: Path) -> list[Path]:
    """Draw the distribution of ARI and the curves that were measured; return the files."""
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    kind = "rendered" if result.rendered else "static"
    files = []

    def save(figure: Any, name: str) -> None:
        path = folder / f"{name}-{kind}.png"
        figure.savefig(path)
        files.append(path)

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for engine in result.engines:
        values = np.sort([page.ari[engine.engine] for page in result.pages.values()])
        axes.step(
            [-0.1, *values, 1.0], [*np.arange(len(values) + 1) / len(values), 1.0],
            where="post", label=engine.engine,
        )  # fmt: skip
    axes.set(xlabel="ARI", ylabel="share of pages below", xlim=(-0.1, 1), ylim=(0, 1))
    axes.set_title(f"Cumulative distribution of ARI, {len(result.pages)} pages, {kind}")
    axes.legend(fontsize="small")
    save(figure, "ari-distribution")
    for name, points in result.curves.items():
        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.add_subplot()
        weights = [point.value for point in points]
        axes.plot(weights, [point.ari for point in points], "o-", label="ARI")
        axes.plot(weights, [point.nmi for point in points], "s--", label="NMI")
        if name == "gcuts":
            axes.set_xscale("symlog", linthresh=0.01)
        axes.set(xlabel="λ" if name == "gcuts" else "threshold", ylim=(0, 1))
        axes.set_title(f"{name}: mean over {len(result.pages)} pages, {kind}")
        axes.legend()
        save(figure, f"{name}-curve")
    return files
