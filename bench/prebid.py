"""prebid-server as a peer of the group adx: PREBID_SERVER names a folder with its program and its folder `static`, built from its
source by whoever runs the benchmark (`go build` in a checkout of 4.8.0 or later). One bidder adapter (loopme, which
passes OpenRTB on as it is) asks a server on loopback; privacy rules, caches and rates are off. It sees no network: its
addresses outside loopback go to a proxy that is not there."""
import os
import pathlib
import socket
import subprocess
import time

PATH = "/openrtb2/auction"
# The least it takes for a request. Ours takes the same bytes.
REQUEST = {"id": "1", "site": {"id": "s", "publisher": {"id": "p"}},
           "imp": [{"id": "1", "video": {"w": 1920, "h": 1080, "mimes": ["video/mp4"], "protocols": [7]},
                    "ext": {"prebid": {"bidder": {"loopme": {"publisherId": "1"}}}}}]}
# m152: an address of a bidder that newer compilers refuse, and it then does not start.
CONFIG = """host: 127.0.0.1
port: {port}
admin_port: {admin}
gdpr: {{enabled: false, default_value: "0"}}
currency_converter: {{fetch_interval_seconds: 0}}
auction_timeouts_ms: {{default: 1000, max: 2000}}
adapters: {{loopme: {{endpoint: "{bidder}"}}, m152: {{endpoint: "http://127.0.0.1:9/"}}}}
"""


def free_ports():
    with socket.socket() as a, socket.socket() as b:
        for s in (a, b):
            s.bind(("127.0.0.1", 0))
        return a.getsockname()[1], b.getsockname()[1]


def home():
    """The folder; None where there is none."""
    named = os.environ.get("PREBID_SERVER")
    return pathlib.Path(named).resolve() if named else None


class Prebid:
    """A server of its own, asking one bidder."""

    def __init__(self, w, bidder):
        self.port, admin = free_ports()
        folder = w.folder()
        (folder / "pbs.yaml").write_text(CONFIG.format(port=self.port, admin=admin, bidder=bidder))
        (folder / "static").symlink_to(home() / "static")
        nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
        self.process = subprocess.Popen([home() / "prebid-server"], cwd=folder, env={**os.environ, **nowhere},
                                        stdout=subprocess.DEVNULL, stderr=(folder / "log").open("wb"))
        end = time.monotonic() + 30
        while not self.is_up():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((folder / "log").read_text()[:600])
            time.sleep(0.1)

    def is_up(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def close(self):
        self.process.kill()
        self.process.wait(30)
