"""Engines by name: those of this package and those that other packages register.

An engine's module is imported when the engine is first asked for: a crawl needs one of them.

Another package adds an engine with an entry point in the group ``websegment_scrapy.engines``
whose value is a class (or function) that takes no argument and returns a ``Segmenter``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from websegment_scrapy.exceptions import UnknownEngine
from websegment_scrapy.segment.base import Segmenter

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from websegment_scrapy.segment.auto_model import AutoModel
    from websegment_scrapy.segment.model import SegmentationModel
    from websegment_scrapy.segment.wps_model import WpsModel

__all__ = [
    "ENTRY_POINT_GROUP",
    "LEARNED",
    "MODEL_OF",
    "engine_names",
    "get_engine",
    "with_model",
]

ENTRY_POINT_GROUP = "websegment_scrapy.engines"

MODEL_OF = {
    "auto": "auto",
    "wps-margin": "wps",
    "wps-slack": "wps",
    **dict.fromkeys(("cclus", "cclus-nl", "gcuts", "gcuts-nl", "gcuts-np"), "segmentation"),
}
"""The kind of model of each engine that has one: the name of its files."""

LEARNED = frozenset(MODEL_OF)
"""Engines with a model; the variants without learning have their λ or threshold from it."""

_BUILT_IN = {
    "auto": "auto:Auto",
    "bf-plain": "fusion:BlockFusion.plain",
    "bf-rulebased": "fusion:BlockFusion.rulebased",
    "bf-smoothed": "fusion:BlockFusion.smoothed",
    "cclus": "correlation:CorrelationClustering",
    "cclus-nl": "correlation:CorrelationClustering.not_learned",
    "gcuts": "graph_cuts:GraphCuts",
    "gcuts-nl": "graph_cuts:GraphCuts.not_learned",
    "gcuts-np": "graph_cuts:GraphCuts.no_parents",
    "justrules": "fusion:JustRules",
    "pagelevel": "page_level:PageLevel",
    "taggap": "baselines:TagGap",
    "wordwrap": "baselines:WordWrap",
    "wps-margin": "wps:StructuredPrediction",
    "wps-slack": "wps:StructuredPrediction.slack",
}
"""Module of this folder, and in it what makes the engine."""


def engine_names() -> list[str]:
    """Return the names of all engines, sorted."""
    return sorted({*_BUILT_IN, *(entry.name for entry in _registered())})


def get_engine(name: str) -> Segmenter:
    """Return the engine of that name, with its published parameters."""
    if name in _BUILT_IN:
        return _built_in(name)
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


def with_model(name: str, model: AutoModel | SegmentationModel | WpsModel | None) -> Segmenter:
    """Return the engine of that name, with another model of its kind if it has one."""
    engine: Any = get_engine(name)
    found: Segmenter = replace(engine, model=model) if name in LEARNED else engine
    return found


@cache
def _built_in(name: str) -> Segmenter:
    module, _, maker = _BUILT_IN[name].partition(":")
    made: Segmenter = attrgetter(maker)(import_module(f"{__package__}.{module}"))()
    return made


def _registered() -> list[EntryPoint]:
    from importlib.metadata import entry_points

    return list(entry_points(group=ENTRY_POINT_GROUP))
