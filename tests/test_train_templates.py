"""Templates are learned from sites that repeat themselves, and measured on labelled nodes."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from websegment_scrapy.cli.main import main
from websegment_scrapy.dedup.signature import RECIPES
from websegment_scrapy.evaluate.pagelevel import align_labels, evaluate_templates
from websegment_scrapy.evaluate.site_help import evaluate_site_help
from websegment_scrapy.learn.pagelevel import sample_pages
from websegment_scrapy.measure.datasets import DataError, NodePage, node_pages
from websegment_scrapy.measure.sites import crawled_sites, local_copy
from websegment_scrapy.measure.template_counts import agreement, leaf_counts
from websegment_scrapy.page.build import build_tree
from websegment_scrapy.store import PageRecord, Store
from websegment_scrapy.template.hashes import describe_parts
from websegment_scrapy.template.pagelevel import PageLevelModel, templateness

WORDS = (
    "harbour ferry morning coal quay master lantern rope kettle bread winter market bridge river "
    "letter garden window pencil umbrella clock tower meadow engine signal fog crane timber paper"
).split()


def sentence(rng: np.random.Generator, length: int) -> str:
    return " ".join(rng.choice(WORDS, length)).capitalize() + "."


def site_pages(number: int, count: int = 8) -> list[str]:
    """Write the pages of a small site of its own design."""
    rng = np.random.default_rng(number)
    menu = "".join(
        f"<li><a href=/{number}/{item}>{sentence(rng, 2)[:-1]}</a></li>"
        for item in range(int(rng.integers(6, 14)))
    )
    foot = (
        f"<a href=/{number}/imprint>Imprint of {sentence(rng, 3)}</a> <a href=/p>Privacy rules</a>"
    )
    menu, foot = f"<ul>{menu}</ul>", f"<div><p>{foot} {sentence(rng, 5)}</p></div>"
    pages = []
    for page in range(count):
        rng = np.random.default_rng((number, page))
        title = sentence(rng, 5)
        body = "".join(f"<p>{sentence(rng, int(rng.integers(40, 120)))}</p>" for _ in range(7))
        main_part = f"<div><h1>{title}</h1>{body}</div>"
        parts = [main_part, menu, foot] if number % 3 == 0 else [menu, main_part, foot]
        pages.append(
            f"<html><head><title>{title}</title></head><body>{''.join(parts)}</body></html>"
        )
    return pages


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sites")
    for number in range(12):
        site = folder / f"site{number:02}" / "pages"
        site.mkdir(parents=True)
        for page, html in enumerate(site_pages(number)):
            (site / f"{page}.html").write_text(html)
    (folder / "small").mkdir()
    (folder / "small" / "alone.html").write_text("<p>One page repeats nothing.")
    return folder


@pytest.fixture(scope="module")
def models(sites: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    arguments = ["train", "templates", "--layout", "static", "--sites", str(sites)]
    assert main([*arguments, "-o", str(folder)]) == 0
    return folder


def test_training_again_gives_the_same_bytes(sites: Path, models: Path, tmp_path: Path) -> None:
    arguments = ["train", "templates", "--layout", "static", "--sites", str(sites)]
    assert main([*arguments, "-o", str(tmp_path)]) == 0
    for name in ("templates-static.json", "templates-static.npz"):
        assert (tmp_path / name).read_bytes() == (models / name).read_bytes()


def test_the_installed_models_are_written_over_only_on_request(
    sites: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", "templates", "--layout", "static", "--sites", str(sites)])
    assert ended.value.code == 2
    assert "one of the arguments -o/--output --install is required" in capsys.readouterr().err


def test_a_crawls_database_says_what_a_site_repeats(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'crawl.db'}"
    saved = tmp_path / "saved"
    with Store.open(database, recipe=RECIPES["shingles"]) as store:
        for number in range(12):
            host = f"site{number:02}.example"
            (saved / host).mkdir(parents=True)
            pages = site_pages(number)
            (saved / host / "one.html").write_text(pages[0])
            for page, html in enumerate(pages):
                parts = describe_parts(build_tree(html))
                store.decide(PageRecord(url=f"http://{host}/{page}", words=3, parts=parts))
    arguments = ["train", "templates", "--layout", "static", "--sites", str(saved)]
    assert main([*arguments, "-o", str(tmp_path)]) == 2  # one page of a site shows nothing
    assert main([*arguments, "-o", str(tmp_path), "--database", database]) == 0
    model = PageLevelModel.load(tmp_path, "static")
    assert model.recipe["sites"] == 12
    assert model.recipe["held_out_families"]["smooth"]["accuracy"] > 0.9


def test_the_model_says_how_it_was_made(models: Path) -> None:
    recipe = json.loads((models / "templates-static.json").read_text())["recipe"]
    assert recipe["sites"] == 12
    assert recipe["theme_families"] == 12
    assert recipe["held_out_families"]["smooth"]["accuracy"] > 0.9


def test_what_sites_repeat_is_found_on_a_site_never_seen(models: Path) -> None:
    model = PageLevelModel.load(models, "static")
    tree = build_tree(site_pages(99)[0])
    smooth = templateness(tree, model=model).smooth
    (menu,) = [node for node in range(len(tree)) if tree.tag_name(node) == "ul"]
    (heading,) = [node for node in range(len(tree)) if tree.tag_name(node) == "h1"]
    assert smooth[menu] >= model.thresholds["smooth"] > smooth[heading + 2]


def test_it_is_measured_what_it_helps_to_know_a_site(tmp_path: Path) -> None:
    for number in range(2):
        site = tmp_path / "sites" / f"site{number}"
        site.mkdir(parents=True)
        for page, html in enumerate(site_pages(number, 16 if number else 6)):
            (site / f"{page:02}.html").write_text(html)
        (site / "005.html").write_text("")  # among those that are judged
    with crawled_sites(tmp_path) as found:
        result = evaluate_site_help(found)
    assert (result.sites, result.pages) == (1, 8)  # the other one has too few pages
    assert result.words_alone >= result.words_known > 1000
    assert result.repeated_alone >= result.repeated_known == 0
    assert result.wrongly_removed == 0
    assert main(["evaluate", "sites", "--data", str(tmp_path), "--json", str(tmp_path / "o")]) == 0
    assert json.loads((tmp_path / "o").read_text()) == result.to_dict()


def test_too_few_designs_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        (tmp_path / f"s{number}").mkdir()
        for page, html in enumerate(site_pages(number)):
            (tmp_path / f"s{number}" / f"{page}.html").write_text(html)
    arguments = ["train", "templates", "--layout", "static", "--sites", str(tmp_path)]
    assert main([*arguments, "-o", str(tmp_path / "m")]) == 2
    assert "3 sites of different design are too few" in capsys.readouterr().err


def test_a_folder_without_sites_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"sites\.tar\.xz"), crawled_sites(tmp_path):
        pass


def test_a_manifest_names_families_and_local_files(tmp_path: Path) -> None:
    page = tmp_path / "sites" / "one" / "sub" / "a.html"
    page.parent.mkdir(parents=True)
    page.write_text('<link rel=stylesheet href="https://one.example/s.css"><p>text')
    entry = {"site": "one", "theme_family": "f", "url_map": {"https://one.example/s.css": "s.css"}}
    (tmp_path / "sites" / "manifest.jsonl").write_text(json.dumps(entry) + "\n")
    with crawled_sites(tmp_path) as (site,):
        assert (site.family, site.pages[0].name) == ("f", "one/sub/a.html")
        with local_copy(site, site.pages[0]) as copy:
            assert 'href="../s.css"' in copy.path.read_text()
        assert not copy.path.exists()


def test_pages_are_chosen_by_chance_but_always_the_same() -> None:
    assert sample_pages(40, 6) == sample_pages(40, 6) == sorted(sample_pages(40, 6))
    assert sample_pages(3, 6) == [0, 1, 2]
    assert sample_pages(40, 6) != list(range(6))


def test_labels_are_aligned_by_order_and_text() -> None:
    tree = build_tree(
        "<p>Menu</p><p>Other text</p><select><option>Menu</select><p>The story: begins</p><p>Menu"
    )
    nodes = [("a", "Menu"), ("b", "Menu"), ("c", "the story  begins"), ("d", "Menu"), ("e", "|")]
    labels = align_labels(tree, nodes)
    assert [label for label in labels if label] == ["a", "c", "d"]
    leaves = [leaf for leaf, label in zip(tree.leaves, labels, strict=True) if label]
    assert [tree.text_of(leaf) for leaf in leaves] == ["Menu", "The story: begins", "Menu"]


def test_words_and_links_are_counted_where_they_stand() -> None:
    tree = build_tree("<p>one two <a href=/x>three <b>four</b> five</a> six</p>")
    counts = leaf_counts(tree)
    assert counts.text.tolist() == [2, 1, 1, 1, 1]
    assert counts.anchor_text.tolist() == [0, 1, 1, 1, 0]
    assert counts.links.tolist() == [0, 1, 0, 0, 0]
    labelled = np.array([True, True, False, False, True])
    found = np.array([True, False, False, True, True])
    amounts = agreement(counts, labelled, found)
    assert amounts["text"].precision == 3 / 4
    assert amounts["text"].recall == 3 / 4
    assert amounts["text"].f_measure == 3 / 4
    assert amounts["links"].recall == 0.0


def labelled_page(number: int) -> NodePage:
    html = site_pages(number, 1)[0]
    tree = build_tree(html)
    nodes = []
    for leaf in tree.leaves.tolist():
        path = tree.xpath(leaf)
        content = "/h1" in path or ("/p[" in path and tree.link[leaf] < 0 and "Imprint" not in path)
        label = "fulltext" if content and "/div[2]" not in path else "not_content"
        nodes.append((label, tree.text_of(leaf)))
    return NodePage(str(number), "http://x.example/", html, tuple(nodes))


def test_templates_are_measured_on_labelled_nodes(models: Path) -> None:
    pages = [labelled_page(number) for number in (91, 92, 94)]
    result = evaluate_templates(pages, PageLevelModel.load(models, "static"))
    assert result.pages == 3
    assert result.aligned == 1.0
    for method in result.methods:
        assert method.amounts["links"].f_measure > 0.8
    assert "anchor text" in result.table()


def test_the_command_measures_and_writes(models: Path, tmp_path: Path) -> None:
    path = tmp_path / "content" / "l3s_gn1.jsonl.xz"
    path.parent.mkdir()
    with lzma.open(path, "wt") as output:
        for number in (91, 92):
            page = labelled_page(number)
            value = {"id": page.id, "url": page.url, "html": page.html, "nodes": page.nodes}
            output.write(json.dumps(value) + "\n")
    assert [page.id for page in node_pages(tmp_path, "l3s_gn1")] == ["91", "92"]
    out = tmp_path / "out.json"
    arguments = ["evaluate", "templates", "--data", str(tmp_path), "--models", str(models)]
    assert main([*arguments, "--json", str(out)]) == 0
    assert json.loads(out.read_text())["pages"] == 2
