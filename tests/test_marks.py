"""What people say is wrong: where it is written, what it is held against, what is learned of it."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.content_pages import SMALL, content_page
from tests.labelled import labelled_examples, labelled_html
from tests.seen import article
from tests.test_viewer import PAGE, Asked, post
from tests.texts import prose
from tests.viewing import viewing
from websegment_scrapy.cli.main import main
from websegment_scrapy.content.features import block_features
from websegment_scrapy.content.model import ContentModel
from websegment_scrapy.evaluate.marks import hold_against
from websegment_scrapy.learn.auto import train_auto
from websegment_scrapy.learn.content import ContentExample, content_examples, train_content
from websegment_scrapy.learn.examples import Example
from websegment_scrapy.learn.marked import marked_examples, marked_pages
from websegment_scrapy.measure.marks import Border, Mark, nodes_below, read_marks
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.segment.auto_model import AutoModel
from websegment_scrapy.view.server import ViewServer
from websegment_scrapy.view.viewer import Document

HOW = {"engine": "justrules", "method": "learned"}


def page_data(server: ViewServer) -> dict[str, Any]:
    text = Asked(server, "page/0").text
    found = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    page: dict[str, Any] = found["page"]
    return page


def choices(server: ViewServer, segment: int) -> dict[str, Any]:
    query = f"engine=justrules&main_text=learned&segment={segment}"
    found: dict[str, Any] = json.loads(Asked(server, f"border/0?{query}").text)
    return found


def written(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_border_is_marked_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "marks.jsonl"
    with viewing(file, None, [PAGE]) as server:
        paragraphs = page_data(server)["paragraphs"]
        ((own,),) = [own for line, own in paragraphs if line.startswith(prose(2)[:30])]
        offered = choices(server, own)
        (cut,) = [place for place, text in offered["cuts"] if text.startswith(prose(2)[:30])]
        neighbours = [place for place, _, _ in offered["neighbours"]]
        assert len(neighbours) == 2
        border = {"kind": "border", "segment": own, **HOW}
        assert post(server, border | {"should": "cut", "place": cut}).status == 200
        assert post(server, border | {"should": "join", "place": neighbours[1]}).status == 200
        assert post(server, border | {"should": "join", "place": 999}).status == 400
        assert Asked(server, "border/0?segment=0&engine=none&main_text=learned").status == 404
        assert Asked(server, "border/0?segment=99&engine=justrules&main_text=learned").status == 404
    cutting, joining = written(file)
    tree = build_tree(PAGE.html)
    texts = dict(zip(tree.xpaths(tree.texts.tolist()), tree.texts_of(tree.texts), strict=True))
    before, after = cutting["border"]["between"]
    assert (texts[before], texts[after]) == (prose(1), prose(2))
    one, two = cutting["border"]["sides"]
    assert prose(1) in "".join(tree.texts_of(np.flatnonzero(nodes_below(tree, one))))
    assert prose(2) not in "".join(tree.texts_of(np.flatnonzero(nodes_below(tree, one))))
    assert prose(2) in "".join(tree.texts_of(np.flatnonzero(nodes_below(tree, two))))
    assert joining["border"]["should"] == "join"
    assert joining["border"]["other"] == neighbours[1]
    assert texts[joining["border"]["between"][0]] == prose(2)


def test_a_mark_has_all_xpaths_of_its_segment(tmp_path: Path) -> None:
    many = "<br>".join(f"line {number} of a long poem" for number in range(60))
    page = Document("poem", f"<body><h1>A poem</h1>{many}<hr><p>{prose(1)}", "http://a.example/")
    with viewing(tmp_path / "marks", None, [page]) as server:
        segments = page_data(server)["segments"]
        longest = max(segments, key=lambda each: each["more_xpaths"])
        assert longest["more_xpaths"] > 0
        mark = {"kind": "content", "segment": longest["id"], **HOW}
        assert post(server, mark).status == 200
    (line,) = written(tmp_path / "marks")
    assert len(line["xpaths"]) == len(longest["xpaths"]) + longest["more_xpaths"]


def test_marks_are_held_against_what_is_found_by_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "marks.jsonl"
    with viewing(file, None, [PAGE]) as server:
        segments = page_data(server)["segments"]
        for segment in segments:
            wanted = "content" if segment["role"] == "main" else "template"
            mark = {**HOW, "segment": segment["id"]}
            assert post(server, mark | {"kind": wanted}).status == 200
        assert post(server, mark | {"kind": "content"}).status == 200  # the footer: another opinion
        other = choices(server, segment["id"])["neighbours"][0][0]
        border = {"kind": "border", "should": "join", "place": other}
        assert post(server, mark | border).status == 200
    count = len(segments)
    assert main(["evaluate", "marks", str(file), "--workers", "1"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"{count + 1} marks, {count + 1} of them could be judged, ")
    assert f"{count - 1} are right by now, 0 no longer found" in told
    assert "All rights reserved" in told
    assert re.search(r"^join ", told, re.MULTILINE)
    file.write_text('{"url": 1}')
    assert main(["evaluate", "marks", str(file)]) == 2
    assert main(["evaluate", "marks", str(tmp_path / "none")]) == 2


@pytest.mark.parametrize(
    "line",
    ["no JSON", "[]", '{"url": 1}', "[" * 100_000, '{"kind": "none"}', "\xff",
     json.dumps({"url": "", "html": "", "kind": "border", "xpaths": [], "text": "", "engine": "",
                 "main_text": "", "border": {"should": "x", "between": [1, 2], "sides": [[], []]}}),
     json.dumps({"url": "", "html": "", "kind": "border", "xpaths": [], "text": "", "engine": "",
                 "main_text": "", "border": {"should": "cut", "between": [1], "sides": []}})],
)  # fmt: skip
def test_what_is_no_mark_is_one_line(
    tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "marks.jsonl"
    file.write_text(line, encoding="latin-1")
    into = ["--marks", str(file), "-o", str(tmp_path / "models")]
    for command in (
        ["evaluate", "marks", str(file)],
        ["train", "content", *into],
        ["train", "segmentation", *into],
    ):
        assert main(command) == 2
        assert "line 1 is no mark: give a file that websegment view" in capsys.readouterr().err


def test_a_border_without_a_place_is_counted_and_teaches_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = {"url": "http://a.example/", "html": article(prose(1)), "kind": "border", "text": "x",
           "xpaths": ["/html[1]/body[1]"], **HOW, "main_text": "learned"}  # fmt: skip
    (tmp_path / "marks").write_text(json.dumps(old) + "\n")
    marks = read_marks(tmp_path / "marks")
    assert marked_examples(marks) == marked_pages(marks) == []
    assert main(["evaluate", "marks", str(tmp_path / "marks"), "--workers", "1"]) == 0
    assert "1 of borders that say no place" in capsys.readouterr().out


# --- blocks, for the model of the main text -------------------------------------------------------

NOTE = "<p class=note>Walk the stone bridge to the harbour market in the silver morning light.</p>"


def noted(seed: int) -> tuple[str, str]:
    """Return a page with a note after its article, which a model takes for template."""
    page = content_page(seed)
    return page.url, page.html.replace("<div class=sidebar>", f"{NOTE}<div class=sidebar>")


def block_mark(seed: int, kind: str = "template") -> Mark:
    url, html = noted(seed)
    tree = build_tree(html)
    (node,) = [node for node in tree.names if "note" in tree.names[node].split()]
    return Mark(
        url=url, html=html, kind=kind, xpaths=(tree.xpaths([node])[0],), text="Walk",
        engine="auto", main_text="learned",
    )  # fmt: skip


def small_examples() -> list[ContentExample]:
    examples = content_examples([content_page(seed) for seed in range(40)])
    return [example for example in examples if example is not None]


def is_content(model: ContentModel, seed: int) -> bool:
    """Say whether a model takes the note of a page for content."""
    features = block_features(build_tree(noted(seed)[1], estimate_layout=False), model.lexicon)
    assert features is not None
    (block,) = [n for n, text in enumerate(features.text.texts) if text.startswith("Walk the")]
    return bool(model.trees.log_odds(features.matrix)[block] > 0)


def test_blocks_that_were_marked_are_learned_from() -> None:
    marks = [block_mark(seed, "content") for seed in range(100, 130)]
    before = train_content(small_examples(), boosting=SMALL)
    after = train_content(small_examples(), marked=marked_pages(marks), boosting=SMALL)
    unseen = range(200, 220)
    assert sum(is_content(before, seed) for seed in unseen) <= 3
    assert sum(is_content(after, seed) for seed in unseen) >= 15
    assert after.recipe["marked_blocks"] == 30
    assert after.lexicon.short == before.lexicon.short


def test_of_a_marked_page_only_the_marked_blocks_are_known() -> None:
    (page,) = marked_pages([block_mark(1), block_mark(1, "content")])
    assert page.known.sum() == 1
    assert page.shares[page.known] == [1.0]  # the last mark counts
    assert page.host == "host1.example"


def test_without_marks_the_models_are_the_same_bytes(tmp_path: Path) -> None:
    examples = small_examples()
    train_content(examples, boosting=SMALL).save(tmp_path / "one")
    train_content(examples, marked=marked_pages([]), boosting=SMALL).save(tmp_path / "two")
    pages = labelled_examples(8)
    train_auto(pages, "static").save(tmp_path / "one")
    train_auto(pages, "static", marked=marked_examples([])).save(tmp_path / "two")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(names) == 4
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_the_command_trains_the_main_text_with_marks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "content").mkdir()
    pages = [content_page(seed) for seed in range(12)]
    lines = "".join(
        json.dumps({"id": page.id, "url": page.url, "html": page.html, "main_text": page.main_text})
        + "\n"
        for page in pages
    )
    (tmp_path / "content" / "wcxb_dev.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    file = tmp_path / "marks.jsonl"
    document = Document("noted", noted(1)[1], noted(1)[0])
    with viewing(file, None, [document]) as server:
        segments = page_data(server)["segments"]
        last = {"segment": segments[-1]["id"], **HOW}
        assert post(server, last | {"kind": "template"}).status == 200
    command = ["train", "content", "--data", str(tmp_path), "-o", str(tmp_path / "models")]
    assert main([*command, "--marks", str(file)]) == 0
    told = capsys.readouterr()
    assert re.search(r"marks: [1-9]\d* blocks of 1 pages are learned from", told.err)
    assert ContentModel.load(tmp_path / "models").recipe["marked_blocks"] >= 1


# --- borders, for the engine auto -----------------------------------------------------------------

PARTS = "".join(
    f"<div id=d{n}><p>{prose(n, 20)}</p><p>{prose(n + 9, 20)}</p></div>" for n in (1, 2, 3)
)


def border_mark(should: str, between: tuple[str, str], *sides: tuple[str, ...]) -> Mark:
    xpaths = sides[0] + sides[1] if should == "cut" else sides[0]
    return Mark(
        url="http://a.example/", html=f"<body>{PARTS}</body>", kind="border", xpaths=xpaths,
        text="", engine="auto", main_text="learned",
        border=Border(should, between, (sides[0], sides[1])),
    )  # fmt: skip


def div(number: int, paragraph: int = 0) -> str:
    below = f"/p[{paragraph}]/text()[1]" if paragraph else ""
    return f"/html[1]/body[1]/div[{number}]{below}"


def test_borders_say_which_leaves_belong_together() -> None:
    join = border_mark("join", (div(1, 2), div(2, 1)), (div(1),), (div(2),))
    (example,) = marked_examples([join])
    assert example.gold.tolist() == [0, 0, 0, 0, -1, -1]
    assert not example.is_segment.any()  # no element has just these
    cut = border_mark("cut", (div(3, 1), div(3, 2)), (f"{div(3)}/p[1]",), (f"{div(3)}/p[2]",))
    (example,) = marked_examples([join, cut])
    assert len(set(example.gold[:4].tolist())) == 1
    assert len(set(example.gold.tolist())) == 3
    skeleton = example.measures.features.skeleton
    rows = [
        (int(skeleton.low[r]), int(skeleton.high[r])) for r in np.flatnonzero(example.is_segment)
    ]
    assert rows == [(4, 5), (5, 6)]
    assert example.known.all()


def test_a_joined_segment_that_is_cut_elsewhere_is_joined_at_its_near_end() -> None:
    cut = border_mark("cut", (div(1, 1), div(1, 2)), (f"{div(1)}/p[1]",), (f"{div(1)}/p[2]",))
    join = border_mark("join", (div(1, 2), div(2, 1)), (div(1),), (div(2),))
    for order in ([cut, join], [join, cut]):
        (example,) = marked_examples(order)
        first, second, third, fourth, *rest = example.gold.tolist()
        assert second == third == fourth != first
        assert rest == [-1, -1]


def test_marks_of_pages_that_have_changed_teach_nothing() -> None:
    gone = border_mark("cut", (div(7, 1), div(7, 2)), (div(7),), (div(8),))
    assert marked_examples([gone]) == []
    assert hold_against(gone) is None


def heading_mark(number: int, page: Example) -> Mark:
    """Say that the first heading of a page is a segment of its own."""
    paths = page.tree.xpaths(page.tree.leaves.tolist())
    place = next(leaf for leaf, path in enumerate(paths) if "/h2[1]/" in path)
    article_path = paths[place].partition("/h2[1]")[0]
    inside = [path for path in paths if path.startswith(f"{article_path}/")]
    sides = (inside[0],), tuple(inside[1:])
    return Mark(
        url=f"http://{number}.example/", html=labelled_html(number), kind="border",
        xpaths=(article_path,), text="", engine="auto", main_text="learned",
        border=Border("cut", (paths[place], paths[place + 1]), sides),
    )  # fmt: skip


def test_borders_that_were_marked_are_learned_from() -> None:
    """On the labelled pages heading and text are one segment; people say that they are not."""
    pages = labelled_examples(12)
    marked = marked_examples([heading_mark(*each) for each in enumerate(pages)])
    assert len(marked) == 12
    before, after = train_auto(pages, "static"), train_auto(pages, "static", marked=marked)
    assert after.recipe["marked_pages"] == 12
    assert "marked_pages" not in before.recipe

    def together(model: AutoModel) -> float:
        """Return how likely what parts at the articles of unseen pages is taken to be together."""
        odds: list[float] = []
        for page in labelled_examples(16)[12:]:
            skeleton = page.measures.features.skeleton
            inner, size = skeleton.inner, skeleton.high - skeleton.low
            articles = page.is_segment[:inner] & (size[:inner] > 3)
            odds += model.together.log_odds(page.measures.features.matrix[:inner])[
                articles
            ].tolist()
        return float(np.mean(odds))

    assert together(after) < together(before) - 0.5
