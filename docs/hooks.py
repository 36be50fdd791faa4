"""MkDocs hooks: documents at the top of the repository are pages of the site too.

SECURITY, CONTRIBUTING and CHANGELOG stand where everybody looks for them, and once. The site has
them as pages, and links lead to the right place both in the repository and in the site.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "docs/"
OUTSIDE = {
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "example_project/README.md": "example.md",
}
"""Documents outside of the folder, and the pages that they are."""

_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the documents from outside."""
    for source, page in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: object) -> str:
    """Turn links between documents of the repository into links between pages."""
    at = page.file.src_uri
    source = {target: document for document, target in OUTSIDE.items()}.get(at, f"{FOLDER}{at}")

    def relink(match: re.Match[str]) -> str:
        document = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        target = OUTSIDE.get(document, document.removeprefix(FOLDER))
        return f"]({posixpath.relpath(target, posixpath.dirname(at) or '.')}"

    return _LINK.sub(relink, markdown)
