"""Wrappers followed on the server's side: what they lead to is shown with everybody's beacons; what leads nowhere is lost,
and the wrappers hear why."""
import re
import time

from miners import Origin
from suite import xmllint
from world import SLOT, Exchange, answer_of, dsp


def wrapper(n, to, errors):
    return (f'<VAST version="4.2" xmlns="http://www.iab.com/VAST"><Ad id="w{n}"><Wrapper><AdSystem>w</AdSystem>'
            f'<Error><![CDATA[{errors}/error/{n}/[ERRORCODE]]]></Error><Impression><![CDATA[https://w{n}.example/imp?t=[TIMESTAMP]]]></Impression>'
            f'<Creatives><Creative><Linear><TrackingEvents><Tracking event="start">https://w{n}.example/start</Tracking>'
            f'<Tracking event="otherAdInteraction">https://w{n}.example/other</Tracking></TrackingEvents><VideoClicks>'
            f'<ClickTracking>https://w{n}.example/click</ClickTracking></VideoClicks></Linear></Creative></Creatives>'
            f'<VASTAdTagURI> <![CDATA[ {to} ]]> </VASTAdTagURI></Wrapper></Ad></VAST>').encode()


INLINE = (b'<VAST version="4.2" xmlns="http://www.iab.com/VAST"><Ad id="in"><InLine><AdSystem>i</AdSystem><Impression>'
          b'<![CDATA[https://in.example/imp]]></Impression><AdServingId>s</AdServingId><AdTitle>t</AdTitle><Creatives><Creative>'
          b'<Linear><Duration>00:00:15</Duration><MediaFiles><MediaFile delivery="progressive" type="video/mp4" width="640" '
          b'height="360">https://in.example/a.mp4</MediaFile></MediaFiles><VideoClicks><ClickThrough>https://in.example/'
          b'</ClickThrough></VideoClicks></Linear><UniversalAdId idRegistry="x">y</UniversalAdId></Creative></Creatives></InLine>'
          b'</Ad></VAST>')


def run(w):
    origin = Origin({})
    ears = w.bidder()
    bidder = w.bidder()
    x = Exchange(w, {"dsps": [dsp("d", bidder)], "slots": [SLOT, {**SLOT, "id": "ssai", "unwrap": True}]}, "--auction-timeout=2s")

    def bid(adm):
        bidder.answer = answer_of([{"id": "b", "impid": "1", "price": 5, "crid": "x", "adomain": ["a.example"], "adm": adm}])

    def heard(n=1):
        w.until(lambda: len([p for p in ears.notices if p.startswith("/error/")]) >= n, "an error is told")
        return sorted(p for p in ears.notices if p.startswith("/error/"))

    def chain(length, last):
        for i in range(length):
            origin.files[f"/{i}"] = wrapper(i, origin.url(f"/{i + 1}"), ears.url(""))
        origin.files[f"/{length}"] = last
        return origin.files["/0"].decode()

    for how, query in (("asked for", "slot=s1&unwrap=true"), ("the slot's way", "slot=ssai")):
        for what, adm in (("a document", chain(3, INLINE)), ("an address", origin.url("/0"))):
            bid(adm)
            doc = x.get(f"/vast?{query}")[1].decode()
            xmllint(w, doc, "4.2", f"{how}, {what}")
            w.check("VASTAdTagURI" not in doc and "https://in.example/a.mp4" in doc, f"{how}, {what}: {doc[:300]}")
            for i in range(3):
                w.check(all(doc.count(f"https://w{i}.example/{e}") == 1 for e in ("imp", "start", "click")), f"{what}: {i}")
            w.check("/other" not in doc, "events that its schema does not know are left out")
            token = re.search(r"/t/impression\?b=([\w-]+)", doc)[1]
            w.check(x.get(f"/t/impression?b={token}")[0] == 204, "and ours")
    w.check(x.metric("adx_impressions_total") == 4, "each is paid")
    bid(chain(1, INLINE))
    w.check("VASTAdTagURI" in x.get("/vast?slot=s1")[1].decode(), "left to the player where it is not wanted")

    ears.notices.clear()
    bid(chain(7, INLINE))
    doc = x.get("/vast?slot=ssai")[1].decode()
    w.check("<Ad" not in doc and all(p.endswith("/302") for p in heard(6)), f"too deep: {heard()}")
    ears.notices.clear()
    origin.files["/0"] = wrapper(0, origin.url("/0"), ears.url(""))
    bid(origin.url("/0"))
    w.check("<Ad" not in x.get("/vast?slot=ssai")[1].decode() and heard(5)[0].endswith("/302"), "a circle")
    for last in (b"<VAST version='4.2'/>", b"no XML", b"<!DOCTYPE a><VAST/>", b"<html/>"):
        ears.notices.clear()
        bid(chain(1, last))
        w.check("<Ad" not in x.get("/vast?slot=ssai")[1].decode() and heard() == ["/error/0/303"], f"no ads: {last} {heard()}")
    ears.notices.clear()
    chain(1, INLINE)
    del origin.files["/1"]
    bid(origin.url("/0"))
    w.check("<Ad" not in x.get("/vast?slot=ssai")[1].decode() and heard() == ["/error/0/301"], f"not there: {heard()}")

    ears.notices.clear()
    real = origin.server.RequestHandlerClass.do_GET
    origin.server.RequestHandlerClass.do_GET = lambda self: time.sleep(4) if self.path == "/1" else real(self)
    bid(chain(1, INLINE))
    began = time.monotonic()
    doc = x.get("/vast?slot=ssai")[1].decode()
    w.check(time.monotonic() - began < 3.5 and "<Ad" not in doc, "an address that does not answer takes no longer than the auction")
    w.check(heard() == ["/error/0/301"], f"too late: {heard()}")
    explained = x.explain(x.bid({"id": "later", "imp": [{"id": "1", "tagid": "s1", "video": {"w": 1, "h": 1}}]})[1]["id"])
    w.check(explained["result"] == "sold", "and others go on")
    w.check(x.stop() == 0, "stops")
