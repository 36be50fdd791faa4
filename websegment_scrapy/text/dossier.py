"""What is kept of a page so that it can be judged again, without the page, when its site is known.

The page alone says which texts may be main text. Which of them the site repeats is another matter:
it is asked anew, about the page's `Outline`, whenever more is known about the site. A dossier holds
just that, and is how a page is judged the first time too: the same page and the same verdict give
the same text, whenever that is.

As bytes it has a few kilobytes: the hashes of the page's parts, its structure in numbers, and the
texts that may be main text, compressed.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from websegment_scrapy.content.choice import look_again
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.page.reading import APART
from websegment_scrapy.template.repeated import Outline, template_outline
from websegment_scrapy.text.main_text import reader_of, told_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from websegment_scrapy.content.page_templates import PageTemplates
    from websegment_scrapy.page.tree import PageTree
    from websegment_scrapy.template.sitelevel import SiteVerdict

__all__ = ["MAX_BYTES", "Dossier", "dossier_of"]

VERSION = 1
"""Raised whenever the bytes, or what is made of them, mean something else."""

MAX_BYTES = 2**18
"""Of a dossier as bytes; a page that would need more is not kept, and is not judged again."""

MAX_CONTENT = 2**24
"""Of its content, when it is read again."""

LEVEL = 4
"""Of compression: half the time of zlib's default, and a twentieth more bytes."""

_HEADER = struct.Struct("<B5I")


@dataclass(frozen=True, slots=True, eq=False)
class Dossier:
    """A page as far as its main text depends on its site.

    Attributes
    ----------
    outline
        The nodes that have text.
    nodes
        Those of them whose text the main text can be made of.
    before, texts
        What stands between each of them and the last, and its text.
    told
        What the page tells machines: its text when there is no other.
    first, words, probability
        The blocks of a page that alone looks like all template: where each begins in `nodes`, its
        words, and the probability that it is main text. Empty for other pages.
    """

    outline: Outline
    nodes: NDArray[np.int64]
    before: Sequence[str]
    texts: Sequence[str]
    told: str
    first: NDArray[np.int64]
    words: NDArray[np.float64]
    probability: NDArray[np.float64]

    def text(self, site: SiteVerdict | None) -> str:
        """Return the main text with what is known of the page's site."""
        repeated = template_outline(self.outline, site)[self.nodes]
        chosen = ~repeated
        if len(self.first):
            if site is None:
                return self.told
            wholly = np.logical_and.reduceat(repeated, self.first)
            kept = look_again(self.words, self.probability, wholly)
            chosen &= np.repeat(kept, np.diff(self.first, append=len(self.nodes)))
        pieces: list[str] = []
        last = -1
        for number in np.flatnonzero(chosen).tolist():
            pieces.append(self.before[number] if number == last + 1 else APART)
            pieces.append(self.texts[number])
            last = number
        return "".join(pieces).strip() or self.told

    def to_bytes(self) -> bytes | None:
        """Return the dossier as bytes; ``None`` when they are too many."""
        outline = self.outline
        flags = outline.shown.astype(np.uint8) | (outline.large.astype(np.uint8) << 1)
        is_part = outline.part != 0
        texts = [text.encode("utf-8", "surrogatepass") for text in self.texts]
        gaps = [gap.encode() for gap in self.before]
        told = self.told.encode("utf-8", "surrogatepass")
        arrays = [
            (outline.end - np.arange(len(outline)), "<u4"),
            (outline.characters, "<u4"),
            (outline.text, "<u4"),
            (outline.letters, "<u4"),
            (outline.running, "<u4"),
            (flags, "u1"),
            (is_part, "u1"),
            (self.nodes, "<u4"),
            (np.array([len(text) for text in texts], dtype=np.int64), "<u4"),
            (np.array([len(gap) for gap in gaps], dtype=np.int64), "<u4"),
            (self.first, "<u4"),
            (self.words, "<f8"),
            (self.probability, "<f8"),
        ]
        header = _HEADER.pack(
            VERSION, len(outline), int(is_part.sum()), len(texts), len(self.first), len(told)
        )
        content = [np.asarray(values).astype(kind).tobytes() for values, kind in arrays]
        packed = zlib.compress(b"".join([*content, *gaps, told, *texts]), LEVEL)
        hashes = outline.part[is_part].astype("<i8").tobytes()  # cannot be compressed
        data = header + hashes + packed
        return data if len(data) <= MAX_BYTES else None

    @classmethod
    def from_bytes(cls, data: bytes) -> Dossier:
        """Read what `to_bytes` wrote; bytes of another version are an `AnalysisError`."""
        try:
            return cls._read(data)
        except (struct.error, zlib.error, ValueError, IndexError, UnicodeError) as error:
            raise AnalysisError(f"what was kept of the page cannot be read: {error}") from None

    @classmethod
    def _read(cls, data: bytes) -> Dossier:
        version, nodes, parts, texts, blocks, told = _HEADER.unpack_from(data)
        if version != VERSION:
            raise ValueError(f"it is of version {version}, not {VERSION}")
        start = _HEADER.size + 8 * parts
        hashes = np.frombuffer(data[_HEADER.size : start], dtype="<i8")
        packed = zlib.decompressobj()
        content = packed.decompress(data[start:], MAX_CONTENT)
        if not packed.eof:
            raise ValueError("its end is missing, or it is too large")
        at = 0

        def take(count: int, kind: str) -> NDArray[Any]:
            nonlocal at
            found = np.frombuffer(content, dtype=kind, count=count, offset=at)
            at += found.nbytes
            return found

        def numbers(count: int) -> NDArray[np.int64]:
            return take(count, "<u4").astype(np.int64)

        size, characters, text, letters, running = (numbers(nodes) for _ in range(5))
        flags, is_part = take(nodes, "u1"), take(nodes, "u1") > 0
        part = np.zeros(nodes, dtype=np.int64)
        part[is_part] = hashes
        chosen, lengths, gaps = (numbers(texts) for _ in range(3))
        first, words, probability = numbers(blocks), take(blocks, "<f8"), take(blocks, "<f8")
        sizes = [*gaps.tolist(), told, *lengths.tolist()]
        ends = list(accumulate(sizes, initial=at))
        if (tail := content[at:]).isascii():  # a character is a byte
            text_of_all = tail.decode("ascii")
            pieces = [text_of_all[low - at : high - at] for low, high in pairwise(ends)]
        else:
            pieces = [
                content[low:high].decode("utf-8", "surrogatepass") for low, high in pairwise(ends)
            ]
        return cls(
            outline=Outline(
                end=size + np.arange(nodes),
                part=part,
                characters=characters,
                text=text,
                letters=letters,
                running=running,
                shown=(flags & 1) > 0,
                large=(flags & 2) > 0,
            ),
            nodes=chosen,
            before=pieces[:texts],
            texts=pieces[texts + 1 :],
            told=pieces[texts],
            first=first,
            words=words,
            probability=probability,
        )


def dossier_of(tree: PageTree, templates: PageTemplates, outline: Outline) -> Dossier:
    """Gather what the main text of a page depends on.

    Parameters
    ----------
    tree, templates
        The page, and what the page alone says of its texts.
    outline
        All nodes of the page (`repeated.outline_of`).
    """
    small, chosen = outline.with_text()
    candidates = templates.candidates
    pieces = list(reader_of(tree, templates).pieces(candidates)) if len(candidates) else []
    first, words, probability = np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
    judgement = templates.judgement
    if templates.looks_again and judgement is not None:
        first = judgement.page.text.blocks.first[:-1]
        words, probability = judgement.page.text.words, judgement.probability
    return Dossier(
        outline=small,
        nodes=np.searchsorted(chosen, candidates),
        before=[gap for gap, _ in pieces],
        texts=[text for _, text in pieces],
        told=told_text(tree),
        first=first,
        words=words,
        probability=probability,
    )
