"""``scrapy websegment …``: the command line inside Scrapy's own."""

from __future__ import annotations

import argparse

from scrapy.commands import ScrapyCommand

__all__ = ["Command"]


_ASKING = (["dedup"], ["report"], ["view"])


class Command(ScrapyCommand):
    """Passes its arguments on to ``websegment``."""

    requires_crawler_process = False

    def syntax(self) -> str:
        """Return the usage line."""
        return "COMMAND …"

    def short_desc(self) -> str:
        """Return the line for Scrapy's list of commands."""
        return "Segment pages, extract main texts, query near-duplicate decisions"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Take all that follows as it is; Scrapy's global options come before it."""
        super().add_options(parser)
        parser.add_argument("arguments", nargs=argparse.REMAINDER, help="as for websegment")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the command; in a project those that ask a database ask the project's."""
        given: list[str] = opts.arguments
        database = self.settings.get("WEBSEGMENT_DATABASE") if self.settings else None
        if given[:1] in _ASKING and database and not _names_database(given):
            given = [*given, "--database", database]
        # Scrapy loads every command's module, whichever command it runs.
        from websegment_scrapy.cli.main import main

        self.exitcode = main(given, prog="scrapy websegment")


def _names_database(arguments: list[str]) -> bool:
    return any(argument.split("=")[0] == "--database" for argument in arguments)
