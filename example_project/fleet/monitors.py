"""What spidermon looks at when a crawl ends; what fails is logged as an error.

spidermon's actions (mail, Slack, Sentry, …) take it from there: ``monitors_failed_actions``.
"""

from __future__ import annotations

from spidermon import Monitor, MonitorSuite, monitors

__all__ = ["FleetMonitors", "PageMonitor"]

MOST_FAILED = 0.05
"""Share of the pages that may fail."""


@monitors.name("websegment")
class PageMonitor(Monitor):
    """Looks at the stats ``websegment/…`` of one crawler."""

    def stat(self, name: str) -> float:
        """Return a count of this crawl."""
        return self.data.stats.get(f"websegment/{name}", 0)

    @monitors.name("all pages were stored")
    def test_store(self) -> None:
        """Look for pages that the database did not take."""
        assert self.stat("store_errors") == 0, "pages could not be stored"

    @monitors.name("few pages failed")
    def test_failed(self) -> None:
        """Look for pages that could not be analysed."""
        share = self.stat("failed") / max(self.stat("pages"), 1)
        assert share <= MOST_FAILED, f"{share:.0%} of the pages failed"

    @monitors.name("all requests could be read")
    def test_queue(self) -> None:
        """Look for requests in the queue that this crawler did not understand."""
        assert self.stat("queue/unreadable") == 0, "requests were put aside"

    @monitors.name("there was a browser")
    def test_browser(self) -> None:
        """Look for pages that were not rendered because nothing could render them."""
        assert self.stat("render/unavailable") == 0, "there is no browser"


class FleetMonitors(MonitorSuite):
    """The suite that ``SPIDERMON_SPIDER_CLOSE_MONITORS`` names."""

    monitors = (PageMonitor,)
