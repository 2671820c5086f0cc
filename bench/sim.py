#!/usr/bin/env python3
"""Messages for a decision and time to finality against the number of validators, measured by the simulator.

usage: bench/sim.py [--bin build/release/bin/candela] [--sizes 5,20,100,500,2000] [--plot DIR]

Prints a JSON line for each size; --plot draws sim-messages.svg and sim-finality.svg. A network without troubles, in five
regions, with a block every six seconds, so that each is decided by itself. What the formulas say stands beside:
messages  N * (beta + c - 1) * 2 * (N - 1) * (1 - (1 - 1/N)^k)    polls, to each a query and an answer of those drawn
finality  (beta + c - 1) / c round trips, of c polls at a time
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys

K, BETA, C = 20, 20, 4  # [spec:consensus#1]
MEAN_ONE_WAY_S = 0.0714  # of the class "world": the mean of its table, and half of what varies
ROOT = pathlib.Path(__file__).resolve().parent.parent


def formula_messages(n):
    asked = (n - 1) * (1 - (1 - 1 / n) ** K)
    return n * (BETA + C - 1) * 2 * asked


def formula_finality(_):
    return (BETA + C - 1) / C * 2 * MEAN_ONE_WAY_S


def number(pattern, text):
    found = re.search(pattern, text, re.M)
    if found is None:
        sys.exit(f"the simulator has not said {pattern}:\n{text}")
    return float(found[1])


def measure(binary, n):
    duration = 120 if n <= 500 else 30
    cmd = [binary, "sim", "--seed=1", f"--nodes={n}", "--troubles=false", f"--duration={duration}s", "--interval=6s"]
    out = subprocess.run(cmd, capture_output=True, text=True, check=False)
    if out.returncode != 0:
        sys.exit(f"{' '.join(cmd)}: {out.stdout}{out.stderr}")
    return {
        "bench": "sim",
        "validators": n,
        "blocks": int(number(r"^accepted (\d+) blocks", out.stdout)),
        "messages_per_block": int(number(r"^messages +\d+, (\d+) for each block", out.stdout)),
        "messages_formula": round(formula_messages(n)),
        "final_p50_s": number(r"^final, median +([\d.]+)", out.stdout),
        "final_p99_s": number(r"^final, 99 % +([\d.]+)", out.stdout),
        "final_formula_s": round(formula_finality(n), 3),
        "wall_s": number(r"^wall clock +([\d.]+)", out.stdout),
        "virtual_s": duration,
    }


def ticks(low, high):
    return [10.0**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def text_of(v):
    return f"{v:,.0f}" if v >= 1 else f"{v:g}"


class Plot:
    """A chart with both axes logarithmic, made for a white page and a dark one alike."""

    LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 84, 24, 44, 48, 680, 380

    def __init__(self, title, xs, low, high):
        self.parts = [f'<text x="{self.LEFT}" y="24" font-size="15" font-weight="600">{title}</text>']
        self.x = (math.log10(min(xs)), math.log10(max(xs)))
        self.ticks = ticks(low, high)
        self.y = (math.log10(self.ticks[0]), math.log10(self.ticks[-1]))
        for v in self.ticks:
            y = self.py(v)
            self.parts.append(f'<path d="M{self.LEFT} {y:.1f}H{self.WIDTH - self.RIGHT}" stroke="#c9cedb"/>')
            self.parts.append(f'<text x="{self.LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text_of(v)}</text>')
        for v in xs:
            self.parts.append(f'<text x="{self.px(v):.1f}" y="{self.HEIGHT - 24}" text-anchor="middle">{v:,}</text>')
        self.parts.append(f'<text x="{self.WIDTH / 2}" y="{self.HEIGHT - 6}" text-anchor="middle">validators</text>')

    def px(self, v):
        span = self.x[1] - self.x[0] or 1
        return self.LEFT + 16 + (math.log10(v) - self.x[0]) / span * (self.WIDTH - self.LEFT - self.RIGHT - 32)

    def py(self, v):
        span = self.y[1] - self.y[0] or 1
        return self.HEIGHT - self.BOTTOM - (math.log10(v) - self.y[0]) / span * (self.HEIGHT - self.TOP - self.BOTTOM)

    def line(self, name, points, colour, dash, at):
        path = "L".join(f"{self.px(x):.1f} {self.py(y):.1f}" for x, y in points)
        style = ' stroke-dasharray="6 5"' if dash else ""
        self.parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{style}/>')
        for x, y in points if not dash else []:
            self.parts.append(f'<circle cx="{self.px(x):.1f}" cy="{self.py(y):.1f}" r="4" fill="{colour}"/>')
        y = self.TOP + 14 + 20 * at
        x = self.LEFT + 24
        self.parts.append(f'<path d="M{x} {y - 4}h28" stroke="{colour}" stroke-width="2"{style}/>')
        self.parts.append(f'<text x="{x + 36}" y="{y}">{name}</text>')

    def svg(self):
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.WIDTH} {self.HEIGHT}" font-family="sans-serif" '
            f'font-size="12" fill="#2a2f3c"><rect width="{self.WIDTH}" height="{self.HEIGHT}" fill="#fff"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def plot(rows, folder):
    xs = [r["validators"] for r in rows]

    def points(key):
        return [(r["validators"], r[key]) for r in rows]

    all_messages = [r[k] for r in rows for k in ("messages_per_block", "messages_formula")]
    p = Plot("Messages for one decision", xs, min(all_messages), max(all_messages))
    p.line("measured", points("messages_per_block"), "#2f5bd0", False, 0)
    p.line("formula", points("messages_formula"), "#b3541e", True, 1)
    (folder / "sim-messages.svg").write_text(p.svg())
    p = Plot("Seconds from building a block to its acceptance", xs, 0.5, max(r["final_p99_s"] for r in rows))
    p.line("half of all acceptances", points("final_p50_s"), "#2f5bd0", False, 0)
    p.line("99 of 100", points("final_p99_s"), "#7a3fb0", False, 1)
    p.line("formula", points("final_formula_s"), "#b3541e", True, 2)
    (folder / "sim-finality.svg").write_text(p.svg())


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--bin", default=str(ROOT / "build/release/bin/candela"))
    args.add_argument("--sizes", default="5,20,100,500,2000")
    args.add_argument("--plot", type=pathlib.Path)
    opt = args.parse_args()
    rows = []
    for n in (int(s) for s in opt.sizes.split(",")):
        rows.append(measure(opt.bin, n))
        print(json.dumps(rows[-1]), flush=True)
    if opt.plot is not None:
        plot(rows, opt.plot)


if __name__ == "__main__":
    main()
