from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable

import numpy as np
import pytest
from lxml import etree

from tests.texts import page, prose
from tests.timing import grows_linearly
from websegment_scrapy import analyze
from websegment_scrapy.exceptions import NotHtml, UnknownEngine
from websegment_scrapy.page.parse import parse_html
from websegment_scrapy.segment.registry import engine_names, get_engine

HTML = page(prose(1), "A story", links="<ul><li><a href=/x>More</a></ul><p>Short end.</p>")


def title(html: str) -> str:
    return analyze(html).title


def test_by_the_papers_rule_the_main_text_is_the_largest_segment_not_half_links() -> None:
    links = "".join(f"<li><a href=/{n}>{prose(n, 30)}</a></li>" for n in range(20))
    html = f"<ul>{links}</ul><h1>T</h1><p>{prose(1, 50)}</p><hr><p>small print"
    found = analyze(html, main_text="largest")
    assert found.main_text.endswith(prose(1, 50))
    assert [segment.role for segment in found.segments].count("main") == 1
    assert found.segments[0].role == "links"
    assert found.words < found.page_words


def test_by_the_papers_rule_a_page_of_links_has_no_main_text() -> None:
    html = "<ul><li><a href=/a>one two three</a><li><a href=/b>four five</a></ul>"
    found = analyze(html, main_text="largest")
    assert found.main_text == ""
    assert found.words == 0


def test_all_segments_that_are_not_template_are_main() -> None:
    menu = "".join(f"<li><a href=/{n}>Menu {n}</a></li>" for n in range(12))
    parts = "".join(f"<h2>Part {n}</h2><p>{prose(n, 60)}</p>" for n in range(4))
    html = (
        f"<nav><ul>{menu}</ul></nav><main><article><h1>A story</h1>{parts}</article></main>"
        "<hr><footer><p>All rights reserved. Imprint. Privacy policy.</p></footer>"
    )
    found = analyze(html, engine="justrules")
    for number in range(4):
        assert prose(number, 60) in found.main_text
    assert "rights reserved" not in found.main_text
    roles = [segment.role for segment in found.segments]
    assert roles[0] == "navigation"
    assert roles[-1] == "footer"
    assert roles.count("main") >= 4
    for segment in found.segments:
        assert segment.templateness is not None
        assert (segment.templateness < 0.5) == (segment.role == "main")


def test_segments_partition_the_leaves_and_their_xpaths_cover_them() -> None:
    root = parse_html(HTML)
    for name in engine_names():
        found = analyze(HTML, engine=name)
        members = np.sort(np.concatenate([segment.leaves for segment in found.segments]))
        assert np.array_equal(members, np.arange(len(found.tree.leaves)))
        for segment in found.segments:
            nodes = [root.getroottree().xpath(path)[0] for path in segment.xpaths]
            text = " ".join(
                " ".join(node.itertext()) if isinstance(node, etree._Element) else str(node)
                for node in nodes
            )
            assert text.split() == segment.text.split(), name


def test_titles_leave_the_name_of_the_site_out() -> None:
    assert title("<title>A story | The Site</title><h1>A story</h1><p>x") == "A story"
    assert title("<title>The Site</title><h1>A story</h1>") == "The Site"
    assert title("<h1>A <b>story</b></h1>") == "A story"
    assert title("<meta property=og:title content='Shared'><title>T</title>") == "Shared"
    assert title("<p>x") == ""


def test_the_result_is_the_same_in_every_run_and_survives_a_journey() -> None:
    first, second = analyze(HTML), analyze(HTML)
    assert first.to_dict() == second.to_dict()
    travelled = pickle.loads(pickle.dumps(first.summary()))
    assert travelled.main_text == first.main_text
    assert travelled.signature == first.signature


def test_a_crawl_is_told_the_same() -> None:
    page = analyze(HTML, url="http://x/", parts=True)
    report = page.report()
    assert report.segments_for_item() == page.to_dict()["segments"]
    assert report.segments_for_item()[0] is not report.segments_for_item()[0]
    assert page.report(segments=False).segments == ""
    for name in ("url", "title", "main_text", "signature", "dossier", "fingerprint", "words"):
        assert getattr(report, name) == getattr(page, name)


@pytest.mark.parametrize("main_text", ["learned", "pagelevel"])
def test_without_segments_all_else_is_the_same_and_no_engine_is_asked(main_text: str) -> None:
    html = page(prose(1), links="<p hidden>Not shown at first.</p><input value=x><p>An end.</p>")
    whole = analyze(html, url="http://x/", main_text=main_text, parts=True)
    without = analyze(html, url="http://x/", main_text=main_text, parts=True, segments=False)
    assert whole.engine == "auto"
    assert (without.engine, without.segments, without.groups) == ("", (), ())
    for name in ("title", "main_text", "words", "page_words", "signature", "page_hash", "model",
                 "fingerprint", "dossier", "page_type", "page_type_probability",
                 "main_text_score"):  # fmt: skip
        assert getattr(without, name) == getattr(whole, name), name


def test_the_papers_rule_has_its_segments_whether_they_are_wanted_or_not() -> None:
    found = analyze(HTML, main_text="largest", engine="justrules", segments=False)
    assert found.engine == "justrules"
    assert found.main_text == analyze(HTML, main_text="largest", engine="justrules").main_text


def test_the_json_form_has_exactly_the_promised_keys() -> None:
    found = json.loads(json.dumps(analyze(HTML, url="http://x/", attributes=["href"]).to_dict()))
    assert set(found) == {
        "url",
        "engine",
        "title",
        "rendered",
        "main_text",
        "main_text_score",
        "page_type",
        "page_type_probability",
        "segments",
        "groups",
        "leaves",
    }
    assert set(found["segments"][0]) == {
        "id",
        "role",
        "templateness",
        "xpaths",
        "box",
        "words",
        "links",
        "text",
        "parent",
        "informative",
    }
    assert set(found["leaves"][0]) == {
        "xpath",
        "kind",
        "segment",
        "templateness",
        "box",
        "text",
        "attributes",
    }
    assert found["leaves"][0]["attributes"] == {"href": "/home"}


def test_an_unknown_engine_is_named_with_those_that_exist() -> None:
    with pytest.raises(UnknownEngine, match="there is no engine 'gcut': known are auto, bf-plain"):
        get_engine("gcut")


def test_what_is_no_page_is_refused() -> None:
    with pytest.raises(NotHtml):
        analyze(b"%PDF-1.4 ...")


@pytest.mark.parametrize(
    "text",
    [
        "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗い所で泣いていた。",
        "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。寒来暑往，秋收冬藏。闰余成岁，律吕调阳。",
        "กาลครั้งหนึ่งนานมาแล้วมีกระต่ายตัวหนึ่งอาศัยอยู่ในป่าใหญ่และชอบวิ่งแข่งกับเต่าทุกวัน",
    ],
)
def test_languages_without_spaces_have_many_words_and_shingles(text: str) -> None:
    found = analyze(f"<ul><li>x</ul><h1>T</h1><p>{text}")
    assert found.words > 20
    edited = analyze(f"<h1>T</h1><p>{text[:-3]}")
    assert len(set(found.signature.keys()) & set(edited.signature.keys())) >= 1


def test_a_page_says_which_model_found_its_main_text() -> None:
    html = "<h1>Title</h1><p>Some text of a page.</p>"
    names = {
        method: analyze(html, main_text=method, engine=engine).model
        for method, engine in (("learned", "justrules"), ("pagelevel", "justrules"))
    }
    assert re.fullmatch("content-any-[0-9a-f]{8}", names["learned"])
    assert re.fullmatch("templates-static-[0-9a-f]{8}", names["pagelevel"])
    largest = [
        analyze(html, main_text="largest", engine=name).model for name in ("justrules", "gcuts")
    ]
    assert largest[0] == ""
    assert re.fullmatch("segmentation-static-[0-9a-f]{8}", largest[1])


def test_the_json_form_of_a_long_page_takes_time_in_proportion() -> None:
    def written(count: int) -> Callable[[], object]:
        return analyze("".join(f"<p>Paragraph {n} has words</p>" for n in range(count))).to_dict

    assert grows_linearly(written, (2_000, 20_000), 2.0)
