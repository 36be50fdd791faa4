"""SiteLevel: what a site repeats is found, whatever changes in it without meaning."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from websegment_scrapy.page.build import build_tree
from websegment_scrapy.page.reading import Reader
from websegment_scrapy.page.tree import PageTree
from websegment_scrapy.template import normalise
from websegment_scrapy.template.hashes import (
    MAX_PARTS,
    TRANSPARENT,
    describe_parts,
    hash_nodes,
    page_parts,
)
from websegment_scrapy.template.normalise import letters_of, normal_link, normal_text
from websegment_scrapy.template.repeated import template_nodes
from websegment_scrapy.template.sitelevel import (
    SiteCounter,
    needed_pages,
    site_verdict,
)

MENU = [
    "Home",
    "About us",
    "Our products",
    "Contact and directions",
    "Legal notice",
    "Frequently asked questions",
    "News and press releases",
    "Opening hours",
]
WORDS = [
    ["river", "stone", "window", "harvest", "lantern", "meadow", "copper", "thunder"],
    ["carries", "follows", "remembers", "hides", "answers", "weighs", "opens", "leaves"],
    ["slowly", "tonight", "in winter", "by the sea", "without a word", "again", "at noon"],
]


def sentence(seed: int) -> str:
    return " ".join(
        part[(seed * 7 + 3 * row) // (row + 1) % len(part)] for row, part in enumerate(WORDS)
    )


def page(number: int, *, active: int | None = None, content: str | None = None) -> str:
    items = []
    for position, name in enumerate(MENU):
        link = f"<a href='{'../' * (number % 3)}p{position}.html?sid={number:032x}'>{name}</a>"
        if position == active:
            link = (f"<strong class=active>{name}</strong>", f"<span>{name}</span>", name)[
                number % 3
            ]
        items.append(f"<li class='c{number}'>{link}</li>")
    text = content or " ".join(f"{sentence(9 * number + k)} {number}." for k in range(9))
    return (
        f"<html><head><title>Page {number}</title><script>var n = {number};</script></head><body>"
        f"<ul class=menu>{''.join(items)}</ul>"
        f"<div><h1>Chapter {sentence(number)}</h1><p>{text}</p></div>"
        f"<form><input type=hidden name=csrf value={number * 97}>Search this site "
        f"<input name=q></form><footer>Visitors today: {number * 13}, last change "
        f"{1 + number % 28} {('March', 'June', 'November')[number % 3]} {2000 + number}. "
        f"&copy; {2000 + number} Example Company</footer></body></html>"
    )


def left_of(html: str, counter: SiteCounter, min_pages: int = 5) -> str:
    """Return the text that is not in the site's template."""
    tree = build_tree(html)
    mask = template_nodes(tree, counter.verdict(min_pages=min_pages))
    return Reader(tree).text(tree.leaves[~mask[tree.leaves]])


def counted(pages: list[str]) -> SiteCounter:
    counter = SiteCounter()
    for html in pages:
        counter.add(build_tree(html))
    return counter


def hash_of(html: str, tag: str) -> int:
    tree = build_tree(html)
    names = [tree.tag_name(node) for node in range(len(tree))]
    return int(hash_nodes(tree).hashes[names.index(tag)])


def test_a_menu_has_one_hash_whatever_its_active_item_its_classes_and_its_session() -> None:
    hashes = {hash_of(page(number, active=number % 5), "ul") for number in range(15)}
    assert len(hashes) == 1


def test_counters_dates_and_tokens_do_not_change_a_footer() -> None:
    assert len({hash_of(page(number), "footer") for number in range(15)}) == 1


def test_hidden_inputs_scripts_and_empty_elements_do_not_change_a_form() -> None:
    plain = hash_of("<body><form>Search the site <input name=q></form>", "form")
    noisy = "<body><form><hr><div></div>Search <b>the</b> site<script>x</script><br></form>"
    assert hash_of(noisy.replace(" <b>the</b> ", " the "), "form") == plain
    hidden = "<body><form><p style='display:none'>Wrong</p>Search the site</form>"
    assert hash_of(hidden, "form") == plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<ul><li>Home<li>About us</ul>", "<ul><li>About us<li>Home</ul>"),
        ("<ul><li>Home<li>About us</ul>", "<ol><li>Home<li>About us</ol>"),
        ("<div><p>a b</p><p>c</p></div>", "<div><p>a</p><p>b c</p></div>"),
        ("<div><a href=/one><img></a></div>", "<div><a href=/two><img></a></div>"),
        ("<table><tr><td>12<td>7</table>", "<table><tr><td>12<td>8</table>"),
    ],
)
def test_what_says_something_else_has_another_hash(one: str, other: str) -> None:
    first = one[1 : one.index(">")]
    second = other[1 : other.index(">")]
    assert hash_of(f"<body>{one}", first) != hash_of(f"<body>{other}", second)


def test_a_title_in_a_list_is_not_the_heading_of_its_page() -> None:
    tree = build_tree("<ul><li><a href=/x>How to mend a net</a></ul><h1>How to mend a net</h1>")
    texts = [node for node in range(len(tree)) if tree.is_text[node]]
    hashes = hash_nodes(tree).hashes
    assert hashes[texts[0]] != hashes[texts[1]]


def test_hashes_are_the_same_in_another_process() -> None:
    script = (
        "from websegment_scrapy.page.build import build_tree\n"
        "from websegment_scrapy.template.hashes import hash_nodes\n"
        "print(hash_nodes(build_tree('<ul><li>Home<li><a href=/x>About</a></ul>')).hashes.tolist())"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    here = hash_nodes(build_tree("<ul><li>Home<li><a href=/x>About</a></ul>")).hashes.tolist()
    assert answers == {f"{here}\n".encode()}


def test_the_template_goes_and_the_content_stays() -> None:
    counter = counted([page(number, active=number % 5) for number in range(12)])
    left = left_of(page(99, active=2), counter)
    assert left.startswith("Chapter ")
    assert not [word for word in ("Home", "Visitors", "Search") if word in left]
    assert all(sentence(9 * 99 + k) in left for k in range(9))


def test_an_active_item_that_shows_something_else_goes_with_its_menu() -> None:
    counter = counted([page(number) for number in range(12)])
    marked = page(99).replace("Home", "Current")
    assert "Current" not in left_of(marked, counter)


def test_there_is_no_verdict_on_few_pages() -> None:
    assert counted([page(number) for number in range(4)]).verdict(min_pages=5) is None
    assert counted([page(number) for number in range(5)]).verdict(min_pages=5) is not None
    tree = build_tree(page(1))
    assert not template_nodes(tree, None).any()


def test_a_site_of_one_page_has_no_template() -> None:
    assert counted([page(1)] * 50).verdict() is None


def test_a_site_whose_every_page_is_the_same_has_no_template() -> None:
    counter = counted([page(number, content="Always the same old story.") for number in [3] * 40])
    assert counter.pages == 1
    assert counter.verdict() is None


def test_an_article_under_three_addresses_of_a_small_site_stays() -> None:
    copies = [page(7) + f"<p>Printed version {sentence(k)}" for k in range(3)]
    counter = counted([page(number) for number in range(17)] + copies)
    assert sentence(63) in left_of(page(7), counter)


def test_common_words_between_links_are_no_template() -> None:
    texts = [
        f"{sentence(n)} <a href=/{n}>{sentence(n + 1)}</a> and <b>{n}</b> of" for n in range(9)
    ]
    counter = counted([page(number, content=text) for number, text in enumerate(texts)])
    left = left_of(page(50, content=texts[0]), counter)
    assert " and " in left


def test_what_half_of_the_pages_say_in_few_words_is_a_template() -> None:
    counter = counted([page(n).replace("<h1>", "<p>Share this</p><h1>") for n in range(8)])
    assert "Share this" not in left_of(page(9).replace("<h1>", "<p>Share this</p><h1>"), counter)
    few = [page(n) for n in range(30)]
    few[:9] = [html.replace("<h1>", "<p>Share this</p><h1>") for html in few[:9]]
    assert "Share this" in left_of(few[0], counted(few))


def test_a_container_of_templates_is_one_but_keeps_its_content() -> None:
    counter = counted([page(number) for number in range(12)])
    prose = " ".join(sentence(k) for k in range(3))
    html = page(1).replace("</ul>", f"</ul><p>{prose}</p>").replace("<ul", "<div><ul", 1)
    tree = build_tree(html)
    mask = template_nodes(tree, counter.verdict())
    assert prose in Reader(tree).text(tree.leaves[~mask[tree.leaves]])


@pytest.mark.parametrize(
    ("pages", "needed"),
    [(5, (3, 3, 3)), (8, (4, 4, 4)), (10, (5, 5, 5)), (40, (20, 10, 5)), (200, (100, 50, 20))],
)
def test_small_sites_need_more_than_a_tenth_of_their_pages(
    pages: int, needed: tuple[int, int, int]
) -> None:
    assert needed_pages(pages) == needed


def test_a_page_adds_a_bounded_number_of_parts_the_whole_page_first() -> None:
    html = "<body>" + "".join(f"<p>{sentence(k)} {k * 'x'} {sentence(k + 1)}" for k in range(900))
    tree = build_tree(html)
    parts = page_parts(tree)
    assert len(parts) == MAX_PARTS == len(set(parts.tolist()))
    body = [tree.tag_name(node) for node in range(len(tree))].index("body")
    assert parts[0] == hash_nodes(tree).hashes.view(np.int64)[body]


def test_samples_begin_as_the_parts_do() -> None:
    parts = describe_parts(build_tree(page(1)))
    assert len(parts.samples) == len(parts.hashes)
    assert parts.samples[0].startswith("body: Home About us")
    assert "ul: Home About us Our products Contact and directions Legal not…" in parts.samples
    assert "footer: Visitors today: 13, last change 2 June 2001. © 2001 Example…" in parts.samples
    hidden = "<body><p>One part <span hidden>and another</span> of the page</p><p>Two</p>"
    assert describe_parts(build_tree(hidden)).samples[0] == "body: One part of the page Two"


def test_pages_without_text_have_no_parts() -> None:
    for html in ("", "<body>", "<body><hr><img src=x><p> </p>", "<body>12 | 13"):
        assert not len(page_parts(build_tree(html)))
        assert not SiteCounter().add(build_tree(html))


def test_other_scripts_count_their_words() -> None:
    chinese = "<ul><li>首页<li>关于我们<li>联系方式</ul>"
    arabic = "<ul><li>الرئيسية<li>من نحن<li>اتصل بنا الآن</ul>"
    for menu in (chinese, arabic):
        pages = [
            f"<body>{menu}<p>{sentence(k)} {sentence(k + 5)} {sentence(k + 9)}" for k in range(8)
        ]
        left = left_of(pages[0], counted(pages))
        assert left.split()
        assert not [item for item in ("首页", "الرئيسية") if item in left]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Comments (12)", "comments 0"),
        ("Posted on Tuesday, March 12th, 2019 at 10:22", "posted on 0 at 0 0"),
        ("12. März 2019", "0"),
        ("el 12 de marzo de 2019", "el 0"),
        ("2019-03-12", "0 0 0"),
        ("Build 3f2a9c0d77e14b5a81aa", "build 0"),
        ("» | ·", ""),
    ],
)
def test_dates_numbers_and_tokens_are_masked(text: str, normal: str) -> None:
    assert normal_text(text) == normal


PIECES = st.sampled_from(
    "mar|march|12|12th|3.|de |,|. |, | |2019| 2019|20190|x|ordentlichster|٣|tue".split("|")
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_dates_before_years_are_all_dates(text: str) -> None:
    assert normalise._without_dates(text) == normalise._DATE.sub("0", text)


def test_figures_in_cells_are_kept() -> None:
    assert normal_text("12.5", keep_numbers=True) == "12 5"
    assert normal_text("about 12.5", keep_numbers=True) == "about 0 0"


@pytest.mark.parametrize(
    ("href", "normal"),
    [
        ("../../about/index.html?sid=12#top", "about"),
        ("/shop;jsessionid=ABC/", "shop"),
        ("./cart/9f8e7d6c5b4a39281706/", "cart/0"),
        ("https://Example.org/feed/", "https://example.org/feed"),
        ("javascript:void(0)", ""),
        ("#top", ""),
    ],
)
def test_links_lose_what_changes(href: str, normal: str) -> None:
    assert normal_link(href) == normal


def test_letters_count_words_and_not_numbers() -> None:
    assert letters_of("posted on 0 at 0 0") == 10
    assert letters_of("首 页") == 6
    assert letters_of("") == 0


TEXTS = st.sampled_from(["", "one two three four", "a b", "12", "navigation menu", "Ω ς"])
TREES = st.recursive(
    TEXTS,
    lambda inner: st.tuples(
        st.sampled_from(["div", "ul", "li", "a", "span", "p", "section"]),
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)


def written(tree: object) -> str:
    if isinstance(tree, str):
        return tree
    assert isinstance(tree, tuple)
    tag, inner = tree
    return f"<{tag}>{''.join(map(written, inner))}</{tag}>"


@given(TREES)
def test_the_fast_hashes_tell_nodes_apart_as_their_written_form_does(tree: object) -> None:
    """Two nodes have the same hash exactly when their normalised HTML is the same text."""
    page = build_tree(f"<body>{written(tree)}<div>{written(tree)}</div>")
    hashed = hash_nodes(page)
    forms = [normalised(page, node) for node in range(len(page))]
    by_form: dict[str, set[int]] = {}
    by_hash: dict[int, set[str]] = {}
    for form, code in zip(forms, hashed.hashes.tolist(), strict=True):
        by_form.setdefault(form, set()).add(code)
        by_hash.setdefault(code, set()).add(form)
    assert all(len(codes) == 1 for codes in by_form.values())
    assert all(len(names) == 1 for names in by_hash.values())


def normalised(tree: PageTree, node: int) -> str:
    """Write out a node's normalised HTML: the oracle of the hashes."""
    if tree.is_text[node]:
        above = int(tree.parent[node])
        while tree.tag_name(above) in TRANSPARENT:
            above = int(tree.parent[above])
        words = normal_text(tree.text_of(node))
        return f"[{tree.tag_name(above)}:{words}]" if words else ""
    inner = "".join(
        content(tree, child)
        for child in range(node + 1, int(tree.end[node]))
        if tree.parent[child] == node
    )
    return f"<{tree.tag_name(node)}>{inner}"


def content(tree: PageTree, node: int) -> str:
    form = normalised(tree, node)
    tag = tree.tag_name(node)
    if not form or form == f"<{tag}>":
        return ""
    return form.removeprefix(f"<{tag}>") if tag in TRANSPARENT else f"{form}</{tag}>"


def words_for(author: str, paragraph: int, count: int = 40) -> str:
    chooser = random.Random(f"{author} {paragraph}")
    letters = "abcdefghijklmnopqrstuvwxyz"
    return " ".join("".join(chooser.choices(letters, k=6)) for _ in range(count))


def shared_host(author: str, number: int, paragraphs: list[str]) -> str:
    """Return a page of a shared host: its menu and notice, and somebody's paragraphs."""
    menu = "".join(f"<li><a href=/{name}>All {name} of the host</a>" for name in ("news", "people"))
    notice = words_for("host", 0)
    own = "".join(f"<p>{each}</p>" for each in paragraphs)
    return (
        f"<body><ul>{menu}</ul><div><h1>{author} writes {sentence(number)}</h1>{own}</div>"
        f"<footer><p>{notice}</p></footer></body>"
    )


@pytest.mark.parametrize("length", [12, 40, 90])
@pytest.mark.parametrize("hostile", [6, 12, 80])
def test_a_part_of_a_host_cannot_make_a_template_of_a_text_of_another(
    hostile: int, length: int
) -> None:
    texts = [words_for("victim", each, length) for each in range(5)]
    victim = shared_host("victim", 0, texts)
    others = [
        shared_host("others", number, [words_for("others", 10 * number + k) for k in range(3)])
        for number in range(1, 20)
    ]
    attack = [
        shared_host("attacker", number, [*texts, words_for("attacker", number)])
        for number in range(100, 100 + hostile)
    ]
    left = left_of(victim, counted([victim, *others, *attack]))
    assert all(text in left for text in texts)
    assert "people" not in left
    assert words_for("host", 0) not in left


def test_a_part_of_a_host_cannot_take_single_paragraphs_away() -> None:
    texts = [words_for("victim", each, 60) for each in range(6)]
    victim = shared_host("victim", 0, texts)
    others = [
        shared_host("others", number, [words_for("others", number)]) for number in range(1, 20)
    ]
    attack = [
        shared_host("attacker", number, [texts[0], words_for("attacker", number)])
        for number in range(100, 106)
    ]
    assert texts[0] in left_of(victim, counted([victim, *others, *attack]))


def test_a_short_note_below_many_articles_is_still_a_template() -> None:
    note = "Jane Miller writes about gardens and lives in a small house by the sea with two cats"
    pages = [
        shared_host("author", number, [words_for("author", number, 200)]) for number in range(20)
    ]
    signed = [each.replace("<footer>", f"<p>{note}</p><footer>") for each in pages[:6]]
    assert note not in left_of(signed[0], counted(signed + pages[6:]))


@given(st.lists(st.lists(st.integers(0, 15), unique=True, min_size=1), min_size=1, max_size=30))
def test_the_verdict_names_exactly_what_is_on_enough_pages(pages: list[list[int]]) -> None:
    counter = SiteCounter()
    kept = [
        number for number, parts in enumerate(pages) if counter.add_parts([-number - 99, *parts])
    ]
    assert kept == list(range(len(pages)))
    verdict = counter.verdict(min_pages=1)
    assert verdict is not None
    needed = [*needed_pages(len(pages)), len(pages) + 1]
    expected = [
        part for part in range(16) if sum(part in page for page in pages) >= needed[part & 3]
    ]
    assert [part for part in verdict.templates.tolist() if part >= 0] == expected
    none = np.empty(0, np.int64)
    assert site_verdict(none, none, 0) is None
