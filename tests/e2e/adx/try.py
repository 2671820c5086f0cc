#!/usr/bin/env python3
"""The ad exchange with a campaign, a bidder and a slot, and a miner that serves its film, in the foreground, until Ctrl-C.

usage: tests/e2e/adx/try.py build/release/bin/candela-adx    (ADX_PORT: 8080, ADX_MINER_PORT: 8081)
"""
import functools
import hashlib
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
from world import Bidder, campaign, dsp  # noqa: E402 - beside this file


def bid(request):
    """Of one bidder: three dollars for every impression."""
    bids = [{"id": f"{request['id']}-{imp['id']}", "impid": imp["id"], "price": 3.0, "crid": "cr-d1",
             "adomain": ["bidder.example"], "adm": "https://bidder.example/vast.xml"} for imp in request["imp"]]
    return 200, json.dumps({"id": request["id"], "cur": "USD", "seatbid": [{"seat": "D1", "bid": bids}]}).encode()


def film(folder):
    """A file of the campaign's, and a server where miners fetch it."""
    body = os.urandom(200_000)
    (pathlib.Path(folder) / "film").mkdir()
    (pathlib.Path(folder) / "film/a.mp4").write_bytes(body)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=f"{folder}/film"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return {"url": f"http://127.0.0.1:{server.server_address[1]}/a.mp4", "type": "video/mp4", "w": 1920, "h": 1080,
            "bitrate": 4000, "sha256": hashlib.sha256(body).hexdigest(), "size": len(body)}


def main():
    bidder = Bidder(bid)
    port, miner_port = os.environ.get("ADX_PORT", "8080"), os.environ.get("ADX_MINER_PORT", "8081")
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "adx.json"
        mine = campaign(cpm="5.00")
        mine["creatives"][0]["files"] = [film(folder)]
        config.write_text(json.dumps({"campaigns": [mine], "dsps": [dsp("d1", bidder)],
                                      "slots": [{"id": "preroll", "publisher": "0xbb", "floor_cpm": "1.00"}]}))
        print(f"""ad exchange with campaign c1, bidder d1 and slot preroll
  curl 'localhost:{port}/vast?slot=preroll'
  curl localhost:{port}/rtb/bid -H 'Content-Type: application/json' -d '{{"id":"1","imp":[{{"id":"1","video":{{"w":1920,"h":1080}}}}]}}'
  curl localhost:{port}/rtb/explain/1
  curl localhost:{port}/auction/current
  curl localhost:{port}/miner/stats
  http://localhost:{port}/ in a browser
  curl localhost:{port}/frequency/check -d '{{"device_id":"d","campaign_id":"c","cap":2}}'""", flush=True)
        process = subprocess.Popen([sys.argv[1], "exchange", f"--port={port}", f"--config={config}",
                                    f"--data-dir={folder}"])
        miner = subprocess.Popen([sys.argv[1], "miner", "start", f"--port={miner_port}", f"--data-dir={folder}/miner",
                                  "--wallet=0x52908400098527886E0F7030069857D2E4169EE7", "--cache-size=64MB",
                                  "--tunnel=direct", "--public-ip=127.0.0.1", f"--exchange=http://127.0.0.1:{port}"])
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            return process.wait()
        except KeyboardInterrupt:
            return process.wait()
        finally:
            miner.terminate()
            miner.wait()
            bidder.close()


if __name__ == "__main__":
    sys.exit(main())
