"""What pages build from data that they fetch is there when they are rendered."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site import Site
from tests.test_render import crawl

PAGE = (
    "<!doctype html><title>x</title><p id=p></p>"
    "<script>const show = text => {{ p.append(text) }}; {}</script>"
)
ASKING = {
    "/fetch": "fetch('/data').then(answer => answer.text()).then(show)",
    "/xhr": "const x = new XMLHttpRequest(); x.onload = () => show(x.responseText); "
    "x.open('GET', '/data'); x.send()",
}


@pytest.mark.browser
def test_text_that_a_page_fetches_is_rendered(tmp_path: Path) -> None:
    pages = {path: PAGE.format(script) for path, script in ASKING.items()}
    with Site({**pages, "/data": "a sentence of the data"}) as site:
        result = crawl(tmp_path, [site.url(path) for path in pages])
        for path in pages:
            item = result["by_url"][site.url(path)]
            assert item["flags"] == ["playwright"]
            assert '<p id="p">a sentence of the data</p>' in item["text"], path
