"""A VAST client library from npm walks our documents through a whole playback, and fetches every beacon once."""
import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess

from world import ROOT, SLOT, Exchange, answer_of, campaign, dsp

HERE = pathlib.Path(__file__).resolve().parent / "player"
WORK = ROOT / "build/e2e-adx/player"
EVENTS = {"impression", "start", "firstQuartile", "midpoint", "thirdQuartile", "complete", "mute", "unmute", "pause", "resume",
          "click"}


def install(w):
    if shutil.which("npm") is None:
        w.check(os.environ.get("CI") != "true", "npm is not installed")
        return False
    WORK.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc", "player.mjs"):
        shutil.copy(HERE / name, WORK / name)
    stamp, want = WORK / ".installed", hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != want:
        subprocess.run(["npm", "ci", "--no-progress"], cwd=WORK, check=True, capture_output=True, timeout=300)
        stamp.write_text(want)
    return True


def play(x, query):
    done = subprocess.run(["node", "player.mjs", f"http://127.0.0.1:{x.port}/vast?{query}"], cwd=WORK, capture_output=True,
                          text=True, check=False, timeout=60)
    return json.loads(done.stdout) if done.returncode == 0 else {"ads": [], "fetched": [], "why": done.stderr[-500:]}


def run(w):
    if not install(w):
        print("SKIP player: npm is not installed")
        return
    x = Exchange(w, {"campaigns": [campaign(), campaign("c2", cpm="3.00", adomain=["b.example"], cat=["IAB1"])],
                     "slots": [SLOT]})
    for version in ("2.0", "3.0", "4.0", "4.1", "4.2", "4.3"):
        before = x.metric("adx_impressions_total")
        seen = play(x, f"slot=s1&version={version}")
        if not w.check(len(seen["ads"]) == 1, f"{version}: {seen}"):
            continue
        ad = seen["ads"][0]
        fired = collections.Counter(re.search(r"/t/(\w+)\?b=", u)[1] for u in seen["fetched"])
        w.check(seen["version"] == version, f"{version}: {seen['version']}")
        w.check(ad["duration"] == 15 and ad["clicked"] == "https://a.example/?a=1&b=%5D%5D%3E", f"{version}: {ad}")
        w.check([f["url"] for f in ad["files"]] == ["https://cdn.example/a.mp4"] and ad["files"][0]["bitrate"] == 4000, str(ad))
        w.check(ad["title"] == "Fish & <Chips>" and ad["errors"] == 1, f"{version}: {ad}")
        w.check(EVENTS <= set(fired) and all(n == 1 for n in fired.values()), f"{version}: {dict(fired)}")
        w.check(x.metric("adx_impressions_total") == before + 1, f"{version}: paid once")
    pod = play(x, "slot=s1&adcount=2")
    w.check([a["sequence"] for a in pod["ads"]] in ([1, 2], ["1", "2"]), f"a pod: {[a['sequence'] for a in pod['ads']]}")
    none = play(x, "slot=s1&dur=1")
    w.check(none["ads"] == [] and "why" not in none, f"no ad is no error: {none}")
    x.stop()
    wrapped(w)


def wrapped(w):
    """A bidder's document behind an address: the player follows our wrapper, and fires theirs and ours."""
    inner = Exchange(w, {"campaigns": [campaign()], "slots": [SLOT]})
    bidder = w.bidder()
    bidder.answer = answer_of([{"id": "b1", "impid": "1", "price": 9, "crid": "x", "adomain": ["a.example"],
                                "adm": f"http://127.0.0.1:{inner.port}/vast?slot=s1"}])
    x = Exchange(w, {"dsps": [dsp("d", bidder)], "slots": [SLOT]})
    seen = play(x, "slot=s1")
    fired = collections.Counter((u.split("/")[2], re.search(r"/t/(\w+)\?b=", u)[1]) for u in seen["fetched"])
    if w.check(len(seen["ads"]) == 1, f"through a wrapper: {seen}"):
        for host in (f"127.0.0.1:{x.port}", f"127.0.0.1:{inner.port}"):
            w.check(all(fired[(host, e)] == 1 for e in ("impression", "start", "complete")), f"{host}: {dict(fired)}")
    w.check(x.metric("adx_impressions_total") == 1 and inner.metric("adx_impressions_total") == 1, "both are paid once")
    x.stop()
    inner.stop()
