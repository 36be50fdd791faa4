"""Text to signature: what is stored of a text so that near-duplicates can be found and verified.

Two kinds, each a `Recipe`:

``shingles``
    The papers' recipe (GCuts paper, section 5.3): the 8 smallest shingle hashes. The similarity of
    two texts is the share of common hashes in the smaller set; from 4 of 8 on they are
    near-duplicates, and from half of the smaller set when a text has fewer than 8 shingles.
``minhash``
    128 minimum hashes (Broder 1997), the same values as datasketch's (`minhash`). The similarity is
    the share of equal values, an estimate of the Jaccard similarity of the sets of shingles. 16
    bands of 8 rows find 95 % of the pairs of Jaccard similarity 0.8 and 61 % of those of 0.7.

A signature's *keys* are 64-bit numbers; texts that have a key in common are candidates, and every
candidate is verified on the full signature.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from websegment_scrapy.dedup.minhash import SCHEME, minimum_hashes
from websegment_scrapy.dedup.shingles import SHINGLE_HASH, SHINGLE_WIDTH, shingle_hashes
from websegment_scrapy.page.words import NORMALISER_VERSION, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "RECIPES",
    "Recipe",
    "Signature",
    "hash_words",
    "minhash_values",
    "sign_words",
    "signature_of",
    "similarities",
    "similarity",
]

DEFAULT_SIMILARITY = {
    "minhash": 0.7,
    "shingles": 0.5,  # 4 of 8: GCuts paper, section 5.3
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that makes two signatures comparable; a store keeps exactly one.

    Parameters
    ----------
    kind
        ``"minhash"`` or ``"shingles"``.
    width
        Words in a shingle.
    size
        Values in a signature (at most, for ``shingles``).
    bands, rows
        Keys of a signature, and values that go into each.
    seed
        Seed of the permutations of ``minhash``.
    scheme
        How values come from shingle hashes: datasketch's permutation scheme, or ``"smallest"``.
    shingle_hash
        Name of the shingle hash.
    normaliser
        Version of the splitting into words.
    """

    kind: Literal["minhash", "shingles"]
    width: int
    size: int
    bands: int
    rows: int
    seed: int
    scheme: str
    shingle_hash: str = SHINGLE_HASH
    normaliser: int = NORMALISER_VERSION

    def __post_init__(self) -> None:
        if self.kind not in DEFAULT_SIMILARITY:
            raise ValueError(
                f"recipe kind is {self.kind!r}: accepted are {', '.join(DEFAULT_SIMILARITY)}"
            )
        if self.bands * self.rows != self.size or min(self.bands, self.rows, self.width) < 1:
            raise ValueError(
                f"recipe of width {self.width} has {self.bands} bands of {self.rows} rows for "
                f"{self.size} values: bands × rows must be the size, and all of them positive"
            )

    @property
    def default_similarity(self) -> float:
        """The similarity from which two texts are near-duplicates unless the user says so."""
        return DEFAULT_SIMILARITY[self.kind]

    def to_json(self) -> str:
        """Write the recipe so that equal recipes give equal text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Read what `to_json` wrote."""
        value: Any = json.loads(text)
        names = {field.name for field in fields(cls)}
        if not isinstance(value, dict) or set(value) != names:
            raise ValueError(f"{text!r} is no recipe: it takes the keys {', '.join(sorted(names))}")
        return cls(**value)


RECIPES: dict[str, Recipe] = {
    "minhash": Recipe(
        kind="minhash", width=SHINGLE_WIDTH, size=128, bands=16, rows=8, seed=1, scheme=SCHEME
    ),
    "shingles": Recipe(
        kind="shingles", width=SHINGLE_WIDTH, size=8, bands=8, rows=1, seed=0, scheme="smallest"
    ),
}
"""The two recipes by kind."""


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The signature of one text.

    Parameters
    ----------
    recipe
        How it was made.
    values
        ``minhash``: 128 numbers of 32 bits; ``shingles``: up to 8 of 64 bits, ascending.
    words
        Number of words of the text.
    content_hash
        16 bytes that are equal exactly for texts with the same words in the same order.
    """

    recipe: Recipe
    values: NDArray[Any]
    words: int
    content_hash: bytes

    def keys(self, secret: bytes = b"") -> list[int]:
        """Return the signed 64-bit keys, ascending; a text without words has none.

        Signed, because neither SQLite nor PostgreSQL has unsigned integers.

        Parameters
        ----------
        secret
            Which values go together into a band of ``minhash`` is public, so whoever knows a text
            can write others that have its keys and little else of it. With a secret the bands are
            drawn by it: to have a key in common by chance takes a text that is as similar as the
            key asks for. The keys of ``shingles`` are values and know no secret.
        """
        if self.words == 0:
            return []
        if self.recipe.kind == "shingles":
            return sorted(self.values.astype("<u8").view("<i8").tolist())
        data = self.to_bytes()
        if secret:
            drawn = np.frombuffer(data, dtype=_dtype(self.recipe))[_order(secret, self.recipe.size)]
            data = drawn.tobytes()
        step = len(data) // self.recipe.bands
        digests = b"".join(
            blake2b(
                band.to_bytes(4, "little") + data[band * step : (band + 1) * step], digest_size=8
            ).digest()
            for band in range(self.recipe.bands)
        )
        return sorted(set(np.frombuffer(digests, dtype="<i8").tolist()))

    def to_bytes(self) -> bytes:
        """Return the values as bytes, the same on every machine."""
        data: bytes = self.values.astype(_dtype(self.recipe)).tobytes()
        return data

    @classmethod
    def from_bytes(cls, data: bytes, recipe: Recipe, words: int, content_hash: bytes) -> Signature:
        """Read what `to_bytes` wrote."""
        dtype = _dtype(recipe)
        full = recipe.size * dtype.itemsize
        if (
            len(data) % dtype.itemsize
            or len(data) > full
            or (recipe.kind == "minhash" and len(data) != full)
        ):
            raise ValueError(f"{len(data)} bytes are no signature of kind {recipe.kind!r}: {full}")
        return cls(recipe, np.frombuffer(data, dtype=dtype), words, content_hash)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Signature):
            return NotImplemented
        return (
            self.recipe == other.recipe
            and self.content_hash == other.content_hash
            and np.array_equal(self.values, other.values)
        )

    def __hash__(self) -> int:
        return hash((self.recipe, self.content_hash))


def signature_of(text: str, recipe: Recipe) -> Signature:
    """Make the signature of a text."""
    return sign_words(words(text), recipe)


def sign_words(found: Sequence[str], recipe: Recipe) -> Signature:
    """Make the signature of a text that has these words."""
    shingles = shingle_hashes(found, recipe.width)
    values: NDArray[Any]
    if recipe.kind == "shingles":
        values = shingles[: recipe.size].copy()
    else:
        values = minhash_values(shingles, recipe)
    return Signature(recipe, values, len(found), hash_words(found))


def hash_words(found: Sequence[str]) -> bytes:
    """Return the ``content_hash`` of a text that has these words."""
    joined = " ".join(found).encode("utf-8", "surrogatepass")
    return blake2b(joined, digest_size=16).digest()


def similarity(a: Signature, b: Signature) -> float:
    """Return how similar two texts are, from 0 to 1; texts without words are similar to none."""
    return float(similarities(a, [b])[0])


def similarities(one: Signature, others: Sequence[Signature]) -> NDArray[np.float64]:
    """Return the similarity of one signature to each of the others."""
    for other in others:
        if other.recipe is not one.recipe and other.recipe != one.recipe:
            raise ValueError(
                "signatures of different recipes cannot be compared: "
                f"{one.recipe.to_json()} and {other.recipe.to_json()}"
            )
    result = np.zeros(len(others), dtype=np.float64)
    filled = np.array([bool(other.words) for other in others], dtype=bool)
    if not one.words or not filled.any():
        return result
    values = [other.values for other in others if other.words]
    if one.recipe.kind == "minhash":
        result[filled] = (np.stack(values) == one.values).mean(axis=1)
        return result
    sizes = np.array([len(each) for each in values])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    common = np.add.reduceat(
        np.isin(np.concatenate(values), one.values, kind="sort"), starts, dtype=np.int64
    )
    result[filled] = common / np.minimum(sizes, len(one.values))
    return result


def minhash_values(shingles: NDArray[np.uint64], recipe: Recipe) -> NDArray[np.uint32]:
    """Return the values of a signature of the kind ``minhash``, by the hashes of its shingles."""
    folded = (shingles ^ (shingles >> np.uint64(32))).astype(np.uint32)
    return minimum_hashes(folded, recipe.size, recipe.seed, recipe.scheme)


@lru_cache(16)
def _order(secret: bytes, size: int) -> NDArray[np.int64]:
    """Draw an order of a signature's values; the same on every machine."""
    digests = [
        blake2b(number.to_bytes(4, "little"), digest_size=16, key=secret).digest()
        for number in range(size)
    ]
    return np.array(sorted(range(size), key=digests.__getitem__), dtype=np.int64)


def _dtype(recipe: Recipe) -> np.dtype[Any]:
    return np.dtype("<u4" if recipe.kind == "minhash" else "<u8")
