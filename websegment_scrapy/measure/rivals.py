"""Other extractors of main texts, each called as its documentation calls it.

They are no dependencies: what is not installed is named, with the remedy. Nothing of ours is loaded
here, so that a process that measures one of them has nothing else in its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["RIVALS", "Rival", "is_installed", "missing", "version_of"]

Extract = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Rival:
    """Another extractor: what it is called on the package index and imported as, and its call."""

    package: str
    module: str
    load: Callable[[], Extract]


def _trafilatura() -> Extract:
    extract = import_module("trafilatura").extract
    return lambda html: str(extract(html, include_comments=False) or "")


def _trafilatura_fast() -> Extract:
    extract = import_module("trafilatura").extract
    return lambda html: str(extract(html, include_comments=False, fast=True) or "")


def _resiliparse() -> Extract:
    extract = import_module("resiliparse.extract.html2text").extract_plain_text
    return lambda html: str(extract(html, main_content=True))


def _readability() -> Extract:
    from_string = import_module("lxml.html").fromstring
    document = import_module("readability").Document

    def text(html: str) -> str:
        return str(from_string(document(html).summary()).text_content())

    return text


def _justext() -> Extract:
    justext = import_module("justext")
    words = justext.get_stoplist("English")

    def text(html: str) -> str:
        found = justext.justext(html, words)
        return "\n".join(each.text for each in found if not each.is_boilerplate)

    return text


def _boilerpy3() -> Extract:
    extractor = import_module("boilerpy3.extractors").ArticleExtractor()
    return lambda html: str(extractor.get_content(html))


def _chromerag() -> Extract:
    extractor = import_module("chromerag").ChromeRAG()

    def text(html: str) -> str:
        found = str(extractor.extract(html).markdown)
        return found.partition("\n---\n")[2] if found.startswith("---\n") else found

    return text


RIVALS: dict[str, Rival] = {
    "trafilatura": Rival("trafilatura", "trafilatura", _trafilatura),
    "trafilatura fast": Rival("trafilatura", "trafilatura", _trafilatura_fast),
    "resiliparse": Rival("resiliparse", "resiliparse", _resiliparse),
    "readability-lxml": Rival("readability-lxml", "readability", _readability),
    "jusText": Rival("jusText", "justext", _justext),
    "boilerpy3": Rival("boilerpy3", "boilerpy3", _boilerpy3),
    "ChromeRAG": Rival("chromerag", "chromerag", _chromerag),
}


def is_installed(module: str) -> bool:
    """Say whether another extractor can be imported."""
    return find_spec(module) is not None


def missing(packages: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return of packages, each with its module, those that are not installed, with the remedy."""
    return {
        package: f"{package} is not installed: pip install {package} "
        "(or all of them: pip install 'websegment-scrapy[rivals]')"
        for package, module in dict.fromkeys(packages)
        if not is_installed(module)
    }


def version_of(package: str) -> str:
    """Return the installed version."""
    return metadata.version(package)
