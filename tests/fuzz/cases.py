"""One case of the fuzz: what is made of its number, and what is found wrong with it."""

from __future__ import annotations

import io
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.fuzz.mutations import mutate
from tests.fuzz.pages import captured
from websegment_scrapy.analysis import analyze
from websegment_scrapy.cli.output import to_json
from websegment_scrapy.config import MAIN_TEXTS
from websegment_scrapy.exceptions import WebsegmentError
from websegment_scrapy.extraction import extract
from websegment_scrapy.frames import read_answer, write_answer
from websegment_scrapy.page.capture import Captured
from websegment_scrapy.page.decode import decode
from websegment_scrapy.segment.registry import engine_names

MOST_SECONDS = 5.0


@dataclass(frozen=True)
class PageCase:
    """A mutated page and how it is analysed."""

    html: bytes | Captured
    engine: str
    main_text: str
    content_type: str | None


def page_case(seed: int, number: int, pages: Sequence[bytes]) -> PageCase:
    """Make the case of a number; the same for the same seed and pages."""
    rng = Random(f"{seed} {number}")
    page = mutate(rng, rng.choice(pages), rng.choice(pages))
    engines = engine_names()
    document: bytes | Captured = page
    if number % 2:
        try:
            document = captured(rng, decode(page))
        except WebsegmentError:
            document = captured(rng, page.decode("utf-8", "replace"))
    return PageCase(
        html=document,
        engine=engines[number // 2 % len(engines)],
        main_text=rng.choice((*MAIN_TEXTS, MAIN_TEXTS[0])),
        content_type=rng.choice((None, None, "text/html; charset=utf-8", "text/html; charset=hex")),
    )


def run_page(case: PageCase) -> str | None:
    """Analyse a page in every way; return what is wrong."""
    began = time.process_time()
    try:
        page = analyze(
            case.html,
            url="http://fuzz.example/",
            engine=case.engine,
            main_text=case.main_text,
            content_type=case.content_type,
            parts=True,
        )
        to_json(page.to_dict()).encode()
        stream = io.BytesIO()
        write_answer(stream, page.summary())
        stream.seek(0)
        read_answer(stream, 2**31)
        text = extract(
            case.html,
            url=page.url,
            engine=case.engine,
            main_text=case.main_text,
            content_type=case.content_type,
        )
        if text.main_text != page.main_text:
            return f"{case.engine}: extract and analyze have different main texts"
        extract(case.html, markdown=True, content_type=case.content_type)
    except WebsegmentError:
        pass
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{case.engine}: {error!r:.200} in {where.filename}:{where.lineno}"
    seconds = time.process_time() - began
    return f"{case.engine}: {seconds:.1f} s" if seconds > MOST_SECONDS else None
