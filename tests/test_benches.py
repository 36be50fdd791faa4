"""``websegment bench extract`` and ``bench crawl``: their pages, and what they measure."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from websegment_scrapy import analyze, extract
from websegment_scrapy.bench import variants
from websegment_scrapy.bench.clock import STAGES
from websegment_scrapy.bench.extractors import Extractor, ExtractorFailed
from websegment_scrapy.bench.growth import fitted_exponent, steepest_exponent
from websegment_scrapy.bench.made_pages import made_pages, page_of_nodes
from websegment_scrapy.bench.mix import by_script, made_mix, real_mix
from websegment_scrapy.bench.serving import serving, write_pages
from websegment_scrapy.bench.spread import Spread
from websegment_scrapy.cli.main import main
from websegment_scrapy.config import RENDER_MODES
from websegment_scrapy.measure.metrics import word_f1
from websegment_scrapy.measure.rivals import RIVALS, Rival, is_installed
from websegment_scrapy.measure.sites import crawled_sites
from websegment_scrapy.page.build import build_tree

SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments: str) -> int:
    return main(["bench", *arguments, "--quiet"])


def texts_in(picture: Path) -> list[str]:
    root = ET.fromstring(picture.read_text())
    assert root.tag == f"{SVG}svg"
    return [each.text or "" for each in root.iter(f"{SVG}text")]


# the pages


def test_pages_are_the_same_for_a_seed_and_others_for_another() -> None:
    assert made_pages(20, 3) == made_pages(30, 3)[:20]
    assert made_pages(5, 3) != made_pages(5, 4)
    assert made_mix(20, 3) == made_mix(20, 3)


def test_main_texts_of_made_pages_are_those_that_they_were_made_of() -> None:
    for page in made_pages(12):
        assert word_f1(page.text, extract(page.html).main_text) > 0.95


def test_copies_are_of_pages_of_other_sites_and_nearly_the_same() -> None:
    pages = made_pages(150)
    copies = [page for page in pages if page.copy_of is not None]
    assert 5 < len(copies) < 30
    for page in copies:
        original = pages[page.copy_of]
        assert original.site != page.site
        assert original.text in page.text
        assert word_f1(original.text, page.text) > 0.9


@pytest.mark.parametrize("nodes", [10, 100, 3_000])
def test_pages_have_about_as_many_nodes_as_were_asked_for(nodes: int) -> None:
    assert len(build_tree(page_of_nodes(nodes)).parent) == pytest.approx(nodes, rel=0.05, abs=1)


@pytest.mark.parametrize(
    "html",
    [
        "<html><head><title>T</title></head><body class=a><p>Fünf Wörter, </script> und mehr.</p>"
        "</body></html>",
        "<title>T</title><p>Nothing that says where the body begins.",
        "\ufeff<HEAD><TITLE>T</TITLE></HEAD><BODY><P>In capitals.</BODY>",
        "<head><title>T</title></head><!-- <body class=old> --><body><p>Of two bodies.</body>",
    ],
)
def test_a_page_built_by_script_has_its_content_in_a_script_only(html: str) -> None:
    built = by_script(html)
    assert analyze(built).main_text == ""
    told = built.decode().partition("innerHTML = ")[2].partition(";});</script>")[0]
    assert json.loads(told) in html


def test_a_fifth_of_a_mix_is_built_by_script() -> None:
    mix = made_mix(300, 1)
    assert 40 < sum(page.scripted for page in mix) < 80
    for page in mix[:20]:
        words = word_f1(page.text, extract(page.body).main_text)
        assert words == 0 if page.scripted else words > 0.95


def saved_sites(folder: Path, count: int) -> Path:
    """Real pages as they are saved: a folder for each site, with what the pages load."""
    for number, page in enumerate(made_pages(count, seed=7)):
        place = folder / page.site / "saved" / f"{number}.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page.html.replace("<head>", "<head><link rel=stylesheet href=../a.css>"))
        (folder / page.site / "a.css").write_text("body { color: #222 }")
    return folder


def test_a_mix_of_saved_pages_has_their_texts_and_mirrors(tmp_path: Path) -> None:
    with crawled_sites(saved_sites(tmp_path, 40)) as sites:
        mix = real_mix(sites, 40, seed=2)
        assert mix == real_mix(sites, 40, seed=2)
    assert len(mix) == 40
    copies = [page for page in mix if page.copy_of is not None]
    assert copies
    for page in copies:
        original = mix[page.copy_of]
        assert (page.path, page.text) == (original.path, original.text)
        assert page.site == f"{original.site}-mirror"


# serving


def get(url: str) -> tuple[int, bytes]:
    from urllib.error import HTTPError

    try:
        with build_opener(ProxyHandler({})).open(url, timeout=10) as response:
            return response.status, response.read()
    except HTTPError as error:
        with error:
            return error.code, b""


def test_sites_are_served_with_what_their_pages_load_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    files = tmp_path / "files"
    files.mkdir()
    (files / "a.css").write_text("body {}")
    folders = write_pages({"a": {"/x/ü.html": b"<p>a"}, "b": {}}, tmp_path / "sites")
    folders["a"].append(str(files))
    with serving(folders, tmp_path / "plan.json") as origins:
        assert origins["a"].rpartition(":")[0] != origins["b"].rpartition(":")[0]
        assert get(f"{origins['a']}/x/%C3%BC.html") == (200, b"<p>a")
        assert get(f"{origins['a']}/a.css?1") == (200, b"body {}")
        assert get(f"{origins['b']}/a.css")[0] == 404
        assert get(f"{origins['a']}/../secret.txt")[0] == 404
        assert get(f"{origins['a']}/%2e%2e/%2e%2e/secret.txt")[0] == 404


# bench extract


def test_extract_measures_engines_stages_and_growth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, picture = tmp_path / "found.json", tmp_path / "found.svg"
    status = run(
        *("extract", "--pages", "3", "--rounds", "2", "--engines", "justrules", "--rivals"),
        *("--sizes", "300", "3000", "--json", str(found), "--plot", str(picture)),
    )
    assert status == 0
    shown = capsys.readouterr().out
    result = json.loads(found.read_text())
    costs = {cost["method"]: cost for cost in result["costs"]}
    assert set(costs) == {"ours: main text", "ours: all with justrules"}
    for cost in costs.values():
        assert 0 < cost["ms"]["low"] <= cost["ms"]["median"] <= cost["ms"]["high"]
        assert cost["cpu_ms"]["median"] > 0
        assert cost["memory_mib"] > 20
        assert cost["f1"] > 0.95
        assert cost["method"] in shown
    assert [stage["method"] for stage in result["stages"]] == list(STAGES)
    grown = {row["method"]: row for row in result["growth"]}
    assert set(grown["ours: main text"]["milliseconds"]) == {"300", "3000"}
    assert 0.3 < grown["ours: main text"]["exponent"] < 1.4
    assert "n^" in shown
    assert {"ours: main text", "layout", "elements and texts"} <= set(texts_in(picture))


def test_extract_takes_files_folders_and_json_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = made_pages(5)
    (tmp_path / "sub").mkdir()
    (tmp_path / "one.html").write_text(pages[0].html)
    (tmp_path / "sub" / "two.HTM").write_text(pages[1].html)
    lines = tmp_path / "more.jsonl"
    lines.write_text("".join(json.dumps({"html": page.html}) + "\n" for page in pages[2:]))
    options = ("--rounds", "1", "--engines", "--rivals", "--sizes")
    assert run("extract", str(tmp_path), str(lines), *options) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("5 pages")
    assert "1.000" not in shown  # nobody knows their main texts
    assert run("extract", str(tmp_path), str(lines), "--pages", "2", *options) == 0
    assert capsys.readouterr().out.startswith("2 pages")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["extract", "--pages", "0"], "--pages is 0: it takes at least 1"),
        (["extract", "--rounds", "-1"], "--rounds is -1: it takes at least 1"),
        (["extract", "--sizes", "5"], "--sizes has 5: the smallest page has 10 nodes"),
        (["extract", "--engines", "nothing"], "there is no engine 'nothing'"),
        (["extract", "no-such-file"], "no-such-file: no such file"),
        (["crawl", "--pages", "0"], "--pages is 0: it takes at least 1"),
        (["crawl", "no-such-folder"], "'no-such-folder' is no folder"),
    ],
)
def test_wrong_use_is_said(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == 2
    assert said in capsys.readouterr().err


def test_extractors_that_are_not_installed_are_named_with_the_remedy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = Rival("no-such-extractor", "no_such_extractor", lambda: str)
    monkeypatch.setitem(RIVALS, "boilerpy3", absent)
    options = ("--pages", "1", "--rounds", "1", "--engines", "--sizes")
    assert run("extract", *options, "--rivals", "boilerpy3") == 0
    shown = capsys.readouterr().out
    assert "no-such-extractor is not installed: pip install no-such-extractor" in shown


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_finds_the_text_of_a_page(name: str) -> None:
    if not is_installed(RIVALS[name].module):
        pytest.skip(f"{RIVALS[name].package} is not installed")
    page = made_pages(1)[0]
    with Extractor(name) as extractor:
        extractor.prepare([page.html])
        (text,) = extractor.round().texts
    assert word_f1(page.text, text) > 0.7


def test_a_page_that_fails_is_told_and_a_method_that_cannot_start_too() -> None:
    with Extractor("ours: main text") as extractor:
        extractor.prepare(["<p>A page.</p>", "<?xml version='1.0'?><rss></rss>"])
        done = extractor.round()
        assert list(done.failures) == [1]
        assert "NotHtml" in done.failures[1]
        assert done.times[1] == {}
    with pytest.raises(ExtractorFailed, match="no such rival"):
        Extractor("no such rival")


def test_a_process_that_dies_is_told() -> None:
    with Extractor("ours: main text") as extractor:
        extractor._process.kill()
        with pytest.raises(ExtractorFailed, match="ended with status -9"):
            extractor.round()


def test_exponents_are_those_of_the_sizes_where_growth_is_seen() -> None:
    square = {size: 1e-4 * size**2 for size in (300, 1000, 3000)}
    assert fitted_exponent({10: 5.0, 100: 5.0, **square}) == pytest.approx(2)
    assert fitted_exponent({10: 5.0, 300: 6.0}) is None
    bent = {10: 0.1, 300: 1.0, 1000: 1.0, 1500: 9.0, 3000: 9.0, 9000: 9.0}
    assert steepest_exponent(bent) == pytest.approx(2)
    assert steepest_exponent({10: 5.0, 300: 6.0}) is None


def test_a_spread_has_its_quartiles() -> None:
    assert Spread.of([4.0, 1.0, 2.0, 3.0, 5.0]) == Spread(3.0, 2.0, 4.0)
    assert Spread.of([1.0]).shown(2) == "1.00 (1.00–1.00)"


# bench crawl


def test_every_mode_of_rendering_is_a_crawl_of_its_own() -> None:
    assert set(variants.ours()) == set(RENDER_MODES)
    assert variants.variants()[:3] == ["scrapy", "pipeline", "playwright"]
    assert variants.variants()[-1] == "always"


@pytest.mark.slow
def test_crawl_measures_the_same_pages_in_every_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, picture = tmp_path / "found.json", tmp_path / "found.svg"
    status = run(
        *("crawl", "--pages", "16", "--rounds", "2", "--variants", "scrapy", "pipeline", "never"),
        *("--json", str(found), "--plot", str(picture)),
    )
    assert status == 0
    result = json.loads(found.read_text())
    costs = {cost["variant"]: cost for cost in result["costs"]}
    measured = {"scrapy", "never"} | ({"pipeline"} if is_installed("trafilatura") else set())
    assert set(costs) == measured
    for cost in costs.values():
        assert cost["pages_per_second"]["median"] > 0.5
        assert cost["missing"] == cost["rendered"] == 0
        assert cost["crawler_mib"] > 30
        assert cost["browser_mib"] == 0
    assert costs["scrapy"]["f1"] is None
    # a pair of which a script builds one page cannot be found without a browser
    mix = made_mix(16, 1)
    seen = [page for page in mix if page.copy_of is not None and not page.scripted]
    seen = [page for page in seen if not mix[page.copy_of].scripted]
    assert costs["never"]["duplicates"] == len(seen) <= result["planted"]
    assert costs["never"]["lost"] == result["scripted"] > 0
    assert costs["never"]["children_ms"]["median"] > 0
    assert "never to scrapy" in result["ratios"]
    shown = capsys.readouterr().out
    assert "ours: never" in shown
    assert "16 pages" in shown
    assert "ours: never" in texts_in(picture)
    if "pipeline" not in measured:
        assert "pip install trafilatura" in result["not_measured"]["pipeline"]


@pytest.mark.browser
@pytest.mark.slow
def test_crawl_renders_saved_pages_and_finds_what_scripts_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, found = saved_sites(tmp_path / "saved", 12), tmp_path / "found.json"
    names = ("playwright", "always")
    options = ("--pages", "10", "--rounds", "1", "--seed", "2", "--json", str(found))
    assert run("crawl", str(folder), *options, "--variants", *names) == 0
    result = json.loads(found.read_text())
    bare, ours = result["costs"]
    assert bare["rendered"] == ours["rendered"] == 10
    assert min(bare["browser_mib"], ours["browser_mib"]) > 50
    assert min(result["scripted"], result["planted"]) > 0
    assert ours["lost"] == 0
    assert ours["f1"] > 0.95
    assert ours["duplicates"] == result["planted"]
    assert "always to playwright" in capsys.readouterr().out
