"""Posts about programming, made from seeds: what they say, without any design.

Sentences, headings and code are put together from parts, all written here. No two posts have more
than a few words in a row in common.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Code", "Definitions", "Heading", "Items", "Links", "Post", "Table", "Text", "post"]

TOOLS = (
    "the scheduler, a small proxy, our build cache, the log shipper, this parser, the job queue, "
    "an old importer, the mail gateway, the index writer, our test runner, the token service, "
    "the image resizer, a backup script, the search daemon, this message broker, the config loader"
).split(", ")
THINGS = (
    "stale locks, half-written files, late timers, duplicate rows, empty batches, broken pipes, "
    "lost updates, open sockets, slow disks, long queues, odd encodings, large headers, "
    "missing columns, zombie processes, circular imports, full partitions, wrong offsets, "
    "expired keys, dropped packets, leaked handles"
).split(", ")
ACTIONS = (
    "retries, gives up, falls back to a copy, writes a warning, blocks, starts over, "
    "skips the entry, waits for a signal, closes the file, swallows the error, asks its neighbour, "
    "drops the oldest record, doubles the delay, locks the table, frees the buffer"
).split(", ")
WAYS = (
    "on every second run, after roughly ten minutes, when two clients connect at once, "
    "under heavy load, before the first commit, right after a restart, once the disk fills up, "
    "in the small hours, behind a slow network, for files above two gigabytes, without any hint, "
    "in the container only, with the newest kernel, as soon as somebody rotates the logs"
).split(", ")
FIXES = (
    "a bounded queue, an explicit timeout, one more index, a checksum, a lock file, smaller pages, "
    "a second thread, an atomic rename, plain polling, a write-ahead log, a circuit breaker, "
    "two extra bytes, a weak reference, batched inserts, a memory map, a monotonic clock"
).split(", ")
PEOPLE = (
    "our operators, most readers, two colleagues, the maintainers, some customers, my past self, "
    "new contributors, the night shift, half of the team, people on the list"
).split(", ")
REASONS = (
    "nobody reads the defaults, clocks drift, names were cheap back then, the limit is not "
    "documented, memory was never freed, the manual says otherwise, tests ran on one core, "
    "caches hide it, the first version had no users, strings are compared by reference"
).split(", ")
SENTENCES = (
    "{Tool} {action} {way}, because {reason}.",
    "What helped with {things} was {fix}.",
    "{People} found {things} {way}.",
    "If {tool} meets {things}, it {action}.",
    "It took {number} days until {people} saw that {reason}.",
    "{Way}, {tool} {action} and leaves {things} behind.",
    "With {fix} in place, {things} went from {number} a day to {small}.",
    "The obvious answer is {fix}, yet {reason}.",
    "I measured it {number} times: {tool} {action} {way}.",
    "Do not trust {tool} with {things}, {people} said.",
    "That {reason} is known to {people}, but {things} still show up {way}.",
    "Between {things} and {fix} there is little room for {tool}.",
    "Version {small}.{number} brought {fix}, and {people} were happy {way}.",
)
HEADINGS = (
    "Why {tool} {action}", "Living with {things}", "A case for {fix}", "What {people} expected",
    "Measuring {things}", "From {things} to {fix}", "How to add {fix}", "When {reason}",
    "{Fix} in practice", "Known problems with {tool}",
)  # fmt: skip
TITLES = (
    "How {fix} saved {tool}", "Hunting {things} in {tool}", "{Tool}, {things} and {fix}",
    "{Number} lessons about {things}", "Replacing {fix} in {tool}",
)  # fmt: skip
TERMS = "offset epoch shard lease quorum digest cursor journal barrier snapshot replica".split()
NAMES = (
    "queue worker batch record cursor buffer target socket result limit offset retry stamp entry "
    "handle bucket token shard header digest".split()
)
CALLS = "open read flush close push pop merge reset drain verify encode lookup commit".split()


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph, or a quote."""

    text: str
    is_quote: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a section."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of code; blank ones among them."""

    language: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    texts: tuple[str, ...]
    is_ordered: bool = False


@dataclass(frozen=True, slots=True)
class Definitions:
    """Terms and what they mean."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Links:
    """The article's own reading list: links, some with a remark."""

    links: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; the first row is the head."""

    rows: tuple[tuple[str, ...], ...]


Part = Text | Heading | Code | Items | Definitions | Links | Table


@dataclass(frozen=True, slots=True)
class Post:
    """A title and what stands below it."""

    title: str
    parts: tuple[Part, ...]


def post(seed: int) -> Post:
    """Return one post; the same seed gives the same one."""
    return _Writer(random.Random(seed)).post()


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def post(self) -> Post:
        rng = self.rng
        kinds: list[Callable[[], Part]] = [
            self.code, self.items, self.steps, self.table, self.definitions, self.code, self.quote,
        ]  # fmt: skip
        parts: list[Part] = [self.paragraph() for _ in range(rng.randint(1, 2))]
        sections = rng.randint(3, 5)
        wanted = rng.sample(kinds, min(len(kinds), sections + rng.randint(0, 2)))
        for number in range(sections):
            parts.append(Heading(self.fill(rng.choice(HEADINGS)), rng.choice((2, 2, 3))))
            parts.append(self.paragraph())
            parts += [kind() for kind in wanted[number::sections]]
            if rng.random() < 0.6:
                parts.append(self.paragraph())
        if rng.random() < 0.6:
            parts += [Heading("Further reading"), self.links()]
        if rng.random() < 0.5:
            parts += [Heading("Summary"), Text(self.sentence())]
        return Post(self.fill(rng.choice(TITLES)), tuple(parts))

    def fill(self, form: str) -> str:
        rng = self.rng
        values = {
            "tool": rng.choice(TOOLS),
            "things": rng.choice(THINGS),
            "action": rng.choice(ACTIONS),
            "way": rng.choice(WAYS),
            "fix": rng.choice(FIXES),
            "people": rng.choice(PEOPLE),
            "reason": rng.choice(REASONS),
            "number": str(rng.randint(12, 480)),
            "small": str(rng.randint(2, 9)),
        }
        values |= {name.capitalize(): _upper(value) for name, value in values.items()}
        return _upper(form.format(**values))

    def sentence(self) -> str:
        return self.fill(self.rng.choice(SENTENCES))

    def paragraph(self) -> Text:
        return Text(" ".join(self.sentence() for _ in range(self.rng.randint(2, 5))))

    def quote(self) -> Text:
        return Text(f"{self.sentence()} {self.sentence()}", is_quote=True)

    def items(self) -> Items:
        rng = self.rng
        short = rng.random() < 0.5
        texts = (
            self.fill("{things}, {way}") if short else self.sentence()
            for _ in range(rng.randint(3, 6))
        )
        return Items(tuple(texts))

    def steps(self) -> Items:
        texts = (
            self.fill(f"{_upper(self.rng.choice(CALLS))} the {self.rng.choice(NAMES)} {{way}}.")
            for _ in range(self.rng.randint(3, 5))
        )
        return Items(tuple(texts), is_ordered=True)

    def table(self) -> Table:
        rng = self.rng
        names = rng.sample(NAMES, rng.randint(3, 6))
        head = ("Name", "Default", "Meaning")
        rows = ((name, str(rng.randint(1, 900)), self.fill("{fix}")) for name in names)
        return Table((head, *rows))

    def definitions(self) -> Definitions:
        terms = self.rng.sample(TERMS, self.rng.randint(2, 4))
        return Definitions(tuple((term, self.sentence()) for term in terms))

    def links(self) -> Links:
        found = []
        for _ in range(self.rng.randint(3, 5)):
            remark = self.sentence() if self.rng.random() < 0.3 else ""
            address = f"https://{self.rng.choice(NAMES)}.example/{self.rng.randint(1, 999)}"
            found.append((self.fill(self.rng.choice(TITLES)), address, remark))
        return Links(tuple(found))

    def code(self) -> Code:
        return self.rng.choice((self.python, self.shell, self.settings))()

    def python(self) -> Code:
        rng = self.rng
        name, other = rng.sample(NAMES, 2)
        lines = [f"def {rng.choice(CALLS)}_{name}({name}, {other}=None):"]
        lines.append(f'    """{self.fill("{Fix} for {things}")}."""')
        for _ in range(rng.randint(3, 9)):
            a, b = rng.sample(NAMES, 2)
            lines.append(
                rng.choice(
                    (
                        f"    {a} = {name}.{rng.choice(CALLS)}({rng.randint(1, 999)})",
                        f"    if {other} is None or {a} > {rng.randint(2, 90)}:",
                        f"        {a}.{rng.choice(CALLS)}({b})  # {rng.choice(THINGS)}",
                        "",
                    )
                )
            )
        return Code("python", (*lines, f"    return {other}"))

    def shell(self) -> Code:
        rng = self.rng
        lines = (
            f"$ {rng.choice(NAMES)}ctl {rng.choice(CALLS)} --{rng.choice(NAMES)}="
            f"{rng.randint(1, 99)} /var/lib/{rng.choice(NAMES)}"
            for _ in range(rng.choice((1, 2, 4, 7)))
        )
        return Code("bash", tuple(lines))

    def settings(self) -> Code:
        rng = self.rng
        lines = [f"[{rng.choice(NAMES)}]"]
        lines += [f"{name} = {rng.randint(1, 5000)}" for name in rng.sample(NAMES, 5)]
        return Code("ini", tuple(lines))


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
