"""Servers that count visitors and place advertisements, and give a page no text: not asked.

They are what an ordinary page waits for longest. Named are the hosts that pages ask most often,
with their whole names, so that nothing else is ever meant; a page of such a host may ask it itself.
"""

from __future__ import annotations

from urllib.parse import urlsplit

__all__ = ["ORIGINS", "patterns"]

ORIGINS = tuple(
    f"https://{host}"
    for host in """
    www.google-analytics.com ssl.google-analytics.com region1.google-analytics.com
    www.googletagmanager.com www.googletagservices.com www.googleadservices.com
    pagead2.googlesyndication.com tpc.googlesyndication.com adservice.google.com
    stats.g.doubleclick.net securepubads.g.doubleclick.net googleads.g.doubleclick.net
    ad.doubleclick.net connect.facebook.net static.ads-twitter.com analytics.tiktok.com
    snap.licdn.com px.ads.linkedin.com bat.bing.com www.clarity.ms c.clarity.ms
    static.hotjar.com script.hotjar.com cdn.segment.com cdn.mxpnl.com cdn.amplitude.com
    js-agent.newrelic.com bam.nr-data.net static.chartbeat.com sb.scorecardresearch.com
    secure.quantserve.com pixel.quantserve.com static.criteo.net bidder.criteo.com
    cdn.taboola.com trc.taboola.com widgets.outbrain.com c.amazon-adsystem.com ib.adnxs.com
    mc.yandex.ru hm.baidu.com js.hs-analytics.net static.cloudflareinsights.com
    plausible.io stats.wp.com pixel.wp.com
    """.split()
)
"""From the public documentation of these services: the addresses that they ask sites to include."""


def patterns(url: str) -> list[dict[str, str]]:
    """Return patterns of the requests that a page does not need, for the `Fetch` domain.

    Parameters
    ----------
    url
        The page's address: of its own host nothing is refused.
    """
    own = urlsplit(url).netloc
    return [
        {"urlPattern": f"{origin}/*", "requestStage": "Request"}
        for origin in ORIGINS
        if urlsplit(origin).netloc != own
    ]
