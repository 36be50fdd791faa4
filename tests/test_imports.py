"""What a start loads: nothing that only training, plots, migrations or a browser need."""

from __future__ import annotations

import subprocess
import sys

import pytest

TRAINING = {"scipy", "sklearn", "matplotlib", "datasketch"}
STARTS = {
    "the package": ("import websegment_scrapy", TRAINING | {"numpy", "lxml", "scrapy"}),
    "a worker": (
        "import websegment_scrapy.worker, websegment_scrapy.analysis\n"
        "websegment_scrapy.analysis.analyze('<h1>Title</h1><p>Text of a page.', parts=True)",
        TRAINING | {"alembic", "maxflow", "playwright", "scrapy", "sqlalchemy", "twisted"},
    ),
    "the add-on": ("import websegment_scrapy.addon", TRAINING | {"alembic", "maxflow"}),
    "the command line": (
        "from websegment_scrapy.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass",
        TRAINING | {"alembic", "lxml", "numpy", "playwright", "scrapy", "sqlalchemy"},
    ),
}


@pytest.mark.parametrize("start", STARTS)
def test_nothing_heavy_is_imported_before_it_is_needed(start: str) -> None:
    statement, heavy = STARTS[start]
    script = f"{statement}\nimport sys\nprint('loaded', *sorted({heavy!r} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "loaded"
