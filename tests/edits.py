"""``python -m tests.edits``: are edits of real pages told from edits of what is around their text?

Pages of sites in ``WEBSEGMENT_DATA`` are edited, in their main text or in what they call menu,
header or footer, and judged before and after, with their site known as at the end of a crawl. An
edit of the text must be ``changed``, one of the surroundings must not.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator

from websegment_scrapy.analysis import AnalyzedPage, analyze
from websegment_scrapy.dedup.fingerprint import same_page
from websegment_scrapy.exceptions import AnalysisError
from websegment_scrapy.measure.datasets import data_directory
from websegment_scrapy.measure.sites import CrawledSite, crawled_sites
from websegment_scrapy.page.decode import decode
from websegment_scrapy.page.words import words
from websegment_scrapy.template.sitelevel import SiteCounter, SiteVerdict

AROUND = re.compile(
    r"\b(menu|nav|navbar|navigation|footer|site-footer|site-header|masthead|topbar)\b",
    re.IGNORECASE,
)
NOT_TEXT = re.compile(
    r"<(script|style|template|noscript|nav|footer|head)\b.*?</\1>", re.DOTALL | re.IGNORECASE
)
NEW = "Brand new entries about lantern makers and ferries".split()
MIN_PAGES = 8
LARGE = 0.4
"""Share of a page's text from which on an element called menu is something else."""

Edit = Callable[[str], str]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.edits", description=__doc__)
    parser.add_argument("--edits", type=int, default=200, metavar="N", help="of each kind")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="default: 1")
    args = parser.parse_args(arguments)
    done, wrong = Counter[str](), Counter[str]()
    chooser = random.Random(args.seed)
    with crawled_sites(data_directory()) as sites:
        chooser.shuffle(sites)
        for site in sites:
            if min(done["text"], done["around"]) >= args.edits:
                break
            for kind, name, found in _edits(site, chooser):
                if done[kind] < args.edits:
                    done[kind] += 1
                    if found != (kind == "text"):
                        wrong[kind] += 1
                        print(f"{kind}: {name}", flush=True)
    print(f"edits of the text: {done['text'] - wrong['text']} of {done['text']} found")
    print(f"edits around it: {wrong['around']} of {done['around']} taken for a change")
    return 1 if wrong else 0


def _edits(site: CrawledSite, chooser: random.Random) -> Iterator[tuple[str, str, bool]]:
    """Yield for some pages of a site which edit was made, and whether it is a change."""
    pages = {}
    counter = SiteCounter()
    for page in site.pages:
        try:
            html = decode(page.path.read_bytes())
            counted = analyze(html, parts=True).parts
        except AnalysisError:
            continue
        assert counted is not None
        counter.add_parts(counted.hashes)
        pages[page.name] = html
    verdict = counter.verdict(min_pages=MIN_PAGES)
    for name in chooser.sample(sorted(pages), min(4, len(pages))):
        html = pages[name]
        before = analyze(html, site=verdict)
        if before.words < 15:
            continue
        for kind, make in (("text", _edit_text), ("around", _edit_around)):
            edit = make(chooser, html, before)
            if edit is not None and (edited := edit(html)) != html:
                yield kind, name, _is_change(before, edited, verdict)


def _is_change(before: AnalyzedPage, edited: str, verdict: SiteVerdict | None) -> bool:
    """Say what the store would (`VisitToDecide.repeats`)."""
    after = analyze(edited, site=verdict)
    return not (
        before.signature.content_hash == after.signature.content_hash
        or before.page_hash == after.page_hash
        or same_page(before.fingerprint, after.fingerprint)
    )


def _edit_text(chooser: random.Random, html: str, page: AnalyzedPage) -> Edit | None:
    """Delete a text of the main text, or replace a sentence or take a word out of it."""
    bare = NOT_TEXT.sub(" ", html)
    assert page.templates is not None
    texts = [
        page.tree.text_of(node)
        for node in page.templates.main.tolist()
        if not _is_around(page, node)
    ]
    texts = [each for each in texts if len(words(each)) >= 6 and html.count(each) == 1]
    texts = [each for each in texts if each in bare]
    if not texts:
        return None
    text = chooser.choice(texts)
    pieces = re.split(r"(?<=[.!?]) ", text)
    kind = chooser.choice(("delete", "replace", "word"))
    if kind == "delete":
        pieces = []
    elif kind == "replace":
        pieces[chooser.randrange(len(pieces))] = " ".join(chooser.sample(NEW, 5)) + "."
    else:
        pieces = text.split()
        del pieces[chooser.randrange(len(pieces))]
        if words(" ".join(pieces)) == words(text):
            return None
    return lambda html: html.replace(text, " ".join(pieces))


def _edit_around(chooser: random.Random, html: str, page: AnalyzedPage) -> Edit | None:
    """Delete or replace up to three texts of what the page calls menu, header or footer."""
    assert page.templates is not None
    texts = [
        page.tree.text_of(node) for node in page.templates.nodes.tolist() if _is_around(page, node)
    ]
    texts = [each for each in texts if words(each) and html.count(f">{each}<") == 1]
    if not texts:
        return None
    chosen = chooser.sample(texts, min(3, len(texts)))
    new = {
        text: "" if chooser.random() < 0.3 else " ".join(chooser.sample(NEW, chooser.randint(1, 3)))
        for text in chosen
    }

    def edit(html: str) -> str:
        for text, other in new.items():
            html = html.replace(f">{text}<", f">{other}<")
        return html

    return edit


def _is_around(page: AnalyzedPage, node: int) -> bool:
    """Say whether a text is in something small that is called menu, header or footer."""
    tree, found = page.tree, False
    for above in tree.ancestors(node):
        tag = tree.tag_name(above)
        size = tree.text_end[tree.end[above] - 1] - tree.text_start[above]
        if tag in ("main", "article"):
            return False
        if tag in ("body", "html") or size > LARGE * len(tree.text):
            continue
        named = AROUND.search(tree.names.get(above, "").replace("_", " "))
        found |= tag in ("nav", "footer") or named is not None
    return found


if __name__ == "__main__":
    sys.exit(main())
