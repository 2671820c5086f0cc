#!/usr/bin/env python3
"""The group pricing: cached prices beside Go's net/http and nginx [spec:bench#8].

    bench/prices.py [--seconds 5] [--rounds 3] [--connections 64]

Every server is pinned to one CPU, wrk to another. What counts is the server's CPU time of a request; the least of the
rounds is taken, which run in turn. nginx, from the path or unpacked from Debian's package, returns a fixed body of 200
bytes; the Go program (bench/peers/prices) answers the same bodies from a map; floor (bench-floor) answers without
looking, which is the least that a server on this machine can need. Results: build/bench/pricing.jsonl.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUT = ROOT / "build" / "bench"
sys.path.insert(0, str(ROOT / "tests" / "pricing"))
sys.dont_write_bytecode = True
from fixture import Fixture  # noqa: E402 - found through the path just set
from gateway import Gateway, free_port  # noqa: E402

TICK = 1 / os.sysconf("SC_CLK_TCK")
ENTRIES = 10000
LIMITS = {"go": 1 / 4, "nginx": 1.2}
RSS_LIMIT_MB = 10
NGINX = """daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/error;
events {{ worker_connections 2048; }}
http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; default_type application/json; location / {{ return 200 "{body}"; }} }} }}
"""


def pinned(cpu, command):
    return ["taskset", "-c", str(cpu), *map(str, command)]


def go_peer():
    """The peer's program; None with a SKIP line when it cannot be built."""
    program = OUT / "peers" / "peer-prices"
    source = ROOT / "bench" / "peers" / "prices"
    if shutil.which("go") is None:
        print("SKIP go: not installed")
        return None
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-buildvcs=false", "-trimpath", "-o", str(program), "."], cwd=source, check=True)
    return program


def nginx_program():
    """nginx and its environment: that of the path, or Debian's package unpacked below build/."""
    if found := shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin"):
        return found, os.environ
    folder = OUT / "nginx"
    program = folder / "root/usr/sbin/nginx"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["apt-get", "download", "nginx", "libpcre2-8-0"], cwd=folder, capture_output=True)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, folder / "root"], check=True)
        if done.returncode != 0 or not program.exists():
            print("SKIP nginx: apt-get cannot download it")
            return None, None
    return str(program), os.environ | {"LD_LIBRARY_PATH": str(folder / "root/usr/lib/x86_64-linux-gnu")}


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK


def rss_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def load(url, opt, cpu):
    command = ["wrk", "-t1", f"-c{opt.connections}", f"-d{opt.seconds}s", "--latency", url]
    text = subprocess.run(pinned(cpu, command), capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise RuntimeError(f"{url}: {text}")
    return int(re.search(r"(\d+) requests in", text)[1]), float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--seconds", type=int, default=5)
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--connections", type=int, default=64)
    args.add_argument("--bin", default=str(ROOT / "build/release/bin/candela-pricing"))
    opt = args.parse_args()
    cpus = sorted(os.sched_getaffinity(0), reverse=True)
    fixture = Fixture()
    processes, best, lines, failed = [], {}, [], []
    with tempfile.TemporaryDirectory() as folder, Gateway(opt.bin, fixture.base()) as gateway:
        subprocess.run(["taskset", "-a", "-p", "-c", str(cpus[0]), str(gateway.process.pid)], check=True,
                       stdout=subprocess.DEVNULL)
        bodies = {}
        for i in range(0, ENTRIES - 1, 1000):
            ids = [f"t{j}" for j in range(i, min(i + 1000, ENTRIES - 1))] + ["bitcoin"]
            prices = json.loads(gateway.get("/prices?ids=" + ",".join(ids)).body)["prices"]
            bodies |= {k: json.dumps(v | {"cached": True}, separators=(",", ":")) for k, v in prices.items()}
        gateway.get("/simple/price?ids=" + ",".join(f"t{i}" for i in range(20)) + "&vs_currencies=usd,eur,gbp")
        assert len(bodies) == ENTRIES, len(bodies)
        loaded_mb = gateway.rss_mb()
        urls = {"c": f"http://127.0.0.1:{gateway.port}/price/bitcoin"}
        pids = {"c": gateway.process.pid}
        if program := go_peer():
            file = pathlib.Path(folder) / "prices"
            file.write_text("".join(f"{k}\t{v}\n" for k, v in bodies.items()))
            port = free_port()
            processes.append(subprocess.Popen(pinned(cpus[0], [program, "-addr", f"127.0.0.1:{port}", "-prices", file])))
            urls["go"], pids["go"] = f"http://127.0.0.1:{port}/price/bitcoin", processes[-1].pid
        program, env = nginx_program()
        if program:
            port = free_port()
            conf = pathlib.Path(folder) / "conf"
            conf.write_text(NGINX.format(folder=folder, port=port, body="x" * 200))
            processes.append(subprocess.Popen(pinned(cpus[0], [program, "-p", folder, "-c", conf]), env=env,
                                              stderr=subprocess.DEVNULL))
            urls["nginx"], pids["nginx"] = f"http://127.0.0.1:{port}/", processes[-1].pid
        floor = pathlib.Path(opt.bin).with_name("bench-floor")
        if floor.exists():
            port = free_port()
            processes.append(subprocess.Popen(pinned(cpus[0], [floor, port])))
            urls["floor"], pids["floor"] = f"http://127.0.0.1:{port}/", processes[-1].pid
        many = f"http://127.0.0.1:{gateway.port}/simple/price?ids=" + ",".join(f"t{i}" for i in range(20))
        runs = [("price_hit", impl, url) for impl, url in urls.items()]
        runs.append(("simple_20x3", "c", many + "&vs_currencies=usd,eur,gbp"))
        try:
            for url in urls.values():
                load(url, argparse.Namespace(connections=8, seconds=1), cpus[-1])
            for _ in range(opt.rounds):
                for name, impl, url in runs:
                    before = cpu_seconds(pids[impl])
                    cnt, rps = load(url, opt, cpus[-1])
                    us = (cpu_seconds(pids[impl]) - before) / cnt * 1e6
                    if (name, impl) not in best or us < best[name, impl][0]:
                        best[name, impl] = us, rps
        finally:
            for p in processes:
                p.terminate()
                p.wait()
        for (name, impl), (us, rps) in best.items():
            lines.append({"bench": "pricing", "impl": impl, "name": name, "connections": opt.connections,
                          "cpu_us_per_req": round(us, 3), "rps": round(rps)})
        lines.append({"bench": "pricing", "impl": "c", "name": "rss", "entries": ENTRIES, "value": round(loaded_mb, 2),
                      "after_load": round(gateway.rss_mb(), 2)})
    fixture.close()
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "pricing.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    own = best["price_hit", "c"][0]
    print(f"\npricing                 CPU µs per request, {opt.connections} connections")
    for (name, impl), (us, rps) in best.items():
        note = "   what no server goes below" if impl == "floor" else ""
        if impl in LIMITS:
            ratio = own / us
            note = f"   candela needs {ratio:.2f} of it (limit {LIMITS[impl]:.2f})"
            failed += [f"price_hit: {ratio:.2f} of {impl}"] if ratio > LIMITS[impl] else []
        print(f"  {name:14}{impl:7}{us:8.2f}{rps:10.0f}/s{note}")
    print(f"  resident with {ENTRIES} entries: {loaded_mb:.1f} MB (limit {RSS_LIMIT_MB})")
    failed += [f"resident {loaded_mb:.1f} MB"] if loaded_mb > RSS_LIMIT_MB else []
    for failure in failed:
        print(f"FAILED {failure}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
