"""Engines by name: those of this package and those that other packages register.

Another package adds an engine with an entry point in the group ``websegment_scrapy.engines``
whose value is a class (or function) that takes no argument and returns a ``Segmenter``.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from websegment_scrapy.exceptions import UnknownEngine
from websegment_scrapy.segment.base import Segmenter
from websegment_scrapy.segment.baselines import TagGap, WordWrap
from websegment_scrapy.segment.correlation import CorrelationClustering
from websegment_scrapy.segment.fusion import BlockFusion, JustRules
from websegment_scrapy.segment.graph_cuts import GraphCuts
from websegment_scrapy.segment.page_level import PageLevel

if TYPE_CHECKING:
    from collections.abc import Callable

    from websegment_scrapy.segment.model import SegmentationModel

__all__ = ["ENTRY_POINT_GROUP", "LEARNED", "engine_names", "get_engine", "with_model"]

ENTRY_POINT_GROUP = "websegment_scrapy.engines"

LEARNED: dict[str, GraphCuts | CorrelationClustering] = {
    engine.name: engine
    for engine in (
        GraphCuts(),
        GraphCuts.no_parents(),
        GraphCuts.not_learned(),
        CorrelationClustering(),
        CorrelationClustering.not_learned(),
    )
}
"""Engines with a model; the variants without learning have their λ or threshold from it."""

_BUILT_IN: dict[str, Callable[[], Segmenter]] = {
    "bf-plain": BlockFusion.plain,
    "bf-rulebased": BlockFusion.rulebased,
    "bf-smoothed": BlockFusion.smoothed,
    "cclus": lambda: LEARNED["cclus"],
    "cclus-nl": lambda: LEARNED["cclus-nl"],
    "gcuts": lambda: LEARNED["gcuts"],
    "gcuts-nl": lambda: LEARNED["gcuts-nl"],
    "gcuts-np": lambda: LEARNED["gcuts-np"],
    "justrules": JustRules,
    "pagelevel": PageLevel,
    "taggap": TagGap,
    "wordwrap": WordWrap,
}


def engine_names() -> list[str]:
    """Return the names of all engines, sorted."""
    return sorted({*_BUILT_IN, *(entry.name for entry in _registered())})


def get_engine(name: str) -> Segmenter:
    """Return the engine of that name, with its published parameters."""
    if make := _BUILT_IN.get(name):
        return make()
    for entry in _registered():
        if entry.name == name:
            engine = entry.load()()
            if not isinstance(engine, Segmenter):
                raise UnknownEngine(
                    f"engine {name!r} ({entry.value}) is no Segmenter: it needs a name and a "
                    "segment(tree) method"
                )
            return engine
    raise UnknownEngine(f"there is no engine {name!r}: known are {', '.join(engine_names())}")


def with_model(name: str, model: SegmentationModel) -> Segmenter:
    """Return the engine of that name, with another model if it has one."""
    engine = LEARNED.get(name)
    return get_engine(name) if engine is None else replace(engine, model=model)


def _registered() -> list[EntryPoint]:
    return list(entry_points(group=ENTRY_POINT_GROUP))
