"""``python -m tests.gate``: show the figures, raise the floors, never lower one."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.gate import FLOORS, FOLDER, FloorWouldFall, measure, raised, read_floors


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gate", description=__doc__)
    parser.add_argument("--pages", type=Path, default=FOLDER, metavar="DIR")
    parser.add_argument("--floors", type=Path, default=FLOORS, metavar="FILE")
    parser.add_argument("--show", action="store_true", help="only show the figures")
    args = parser.parse_args(arguments)
    figures, floors = measure(args.pages), read_floors(args.floors)
    for name, figure in figures.items():
        sys.stdout.write(f"{name:<20} {figure:.3f}  floor {floors.get(name, 0.0):.3f}\n")
    if args.show:
        return 0
    try:
        floors = raised(floors, figures)
    except FloorWouldFall as error:
        sys.stderr.write(f"no floor was changed, because one would have to be lowered:\n{error}\n")
        return 2
    args.floors.write_text(json.dumps(floors, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
