"""Pictures of rendered pages: taken if asked for, in a folder that does not grow for ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.crawling import crawl
from tests.site import Site
from tests.test_viewer import Asked
from tests.texts import page, prose
from tests.viewing import viewing
from websegment_scrapy.crawl.pictures import Pictures
from websegment_scrapy.store.queries import open_for_reading
from websegment_scrapy.store.record import picture_name


@pytest.mark.browser
def test_a_crawl_keeps_pictures_and_the_viewer_shows_them(tmp_path: Path) -> None:
    folder, database = tmp_path / "pictures", f"sqlite:///{tmp_path}/store.db"
    settings = {
        "WEBSEGMENT_DATABASE": database,
        "WEBSEGMENT_KEEP_SCREENSHOTS": str(folder),
        "WEBSEGMENT_PRIVATE_HOSTS": ["127.0.0.1"],
    }
    tall = page(prose(2)) + "<div style='height:100000px'></div>"
    with Site({"/": page(prose(1)), "/tall": tall}) as site:
        urls = [site.url("/"), site.url("/tall")]
        found = crawl(urls, settings)
    assert {item["websegment"]["rendered"] for item in found.items} == {True}
    for url in urls:
        assert (folder / picture_name(url)).read_bytes().startswith(b"\xff\xd8")
    open_for_reading(database).close()
    with viewing(tmp_path / "marks", database, screenshots=folder) as server:
        assert 'src="../screenshot/1"' in Asked(server, "url/1").text
        assert Asked(server, "screenshot/1", raw=True).status == 200
        assert Asked(server, "screenshot/9").status == 404


def test_the_oldest_pictures_go_when_the_folder_is_full(tmp_path: Path) -> None:
    pictures = Pictures(str(tmp_path / "kept"), 1)
    other = tmp_path / "kept" / "holiday.jpg"
    names = [picture_name(f"http://a.example/{number}") for number in range(12)]
    for number, name in enumerate(names):
        pictures._write(name, bytes(100_000))
        os.utime(tmp_path / "kept" / name, (number, number))
        if number == 0:
            other.write_bytes(bytes(10))
    left = {path.name for path in (tmp_path / "kept").iterdir()}
    assert other.name in left
    assert names[-1] in left
    assert names[0] not in left
    assert sum(path.stat().st_size for path in (tmp_path / "kept").iterdir()) <= 2**20


def test_a_picture_is_replaced_by_that_of_the_next_visit(tmp_path: Path) -> None:
    pictures = Pictures(str(tmp_path), 1)
    for size in (10, 20):
        pictures._write(picture_name("http://a.example/"), bytes(size))
    (path,) = tmp_path.iterdir()
    assert path.stat().st_size == 20
