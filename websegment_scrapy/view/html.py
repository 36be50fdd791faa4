"""HTML from templates: everything is escaped, and nothing runs but our own script.

Jinja2 escapes all values. A policy (Content-Security-Policy) names our scripts and styles by their
hashes and allows nothing else, no address either: what a page has written is shown, whatever it is.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from websegment_scrapy.printable import shortened

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["asset", "fill", "hash_source", "policy"]

FILES = Path(__file__).with_name("files")


@cache
def environment() -> Environment:
    """Return the templates of this package."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(FILES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["short"] = shortened
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    return made


def fill(template: str, **values: Any) -> str:
    """Fill a template with values."""
    return environment().get_template(template).render(**values)


@cache
def asset(*names: str) -> Markup:
    """Return files of this package, one after the other, as they are: scripts or styles."""
    texts = [(FILES / name).read_text(encoding="utf-8") for name in names]
    return Markup("\n").join(Markup(text) for text in texts)


def hash_source(text: str) -> str:
    """Return by what a policy names an inline script or style."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def policy(script: str, style: str) -> str:
    """Return the policy of a file that stands alone: these inline texts and nothing else.

    Parameters
    ----------
    script, style
        What stands between the tags.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {hash_source(script)}",
            f"style-src {hash_source(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
