"""The original service's transcript, block by block, as pricing.md wants it answered: what was a defect there
([D] in the specification) is expected as the decision says, everything else as it was."""
import json
import re
import time

from gateway import DATA, Gateway, Skip, same

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$")
PROVIDER_DOWN = {"/price/solana", "/prices?ids=solana", "/simple/price?ids=solana"}
NAMES = {"bitcoin": ("btc", "Bitcoin"), "ethereum": ("eth", "Ethereum"), "shib": ("shib", "Shib <&> Inu")}
COMPARED = ["Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers"]


def blocks():
    file = DATA / "pricing/original-transcript.txt"
    if not file.is_file():
        raise Skip(f"{file} is missing")
    for text in file.read_text().split(">>> ")[1:]:
        request, _, answer = text.partition("\n")
        head, _, body = answer.rpartition("<<<")[0].partition("\n\n")
        lines = head.splitlines()
        headers = dict(line.split(": ", 1) for line in lines[1:])
        words = request.split()
        method = words[1] if words[0] == "-X" else "HEAD" if words[0] == "-I" else "GET"
        yield method, words[-1].removeprefix("http://gateway"), int(lines[0].split()[1]), headers, body.rstrip("\n")


def mask(v):
    """Times become a word; it is seen to that they are times."""
    if isinstance(v, dict):
        return {k: "<time>" if k in ("time", "updated_at") and TIME.match(x) else mask(x) for k, x in v.items()}
    return v


def complete(v):
    """The original forgot names of what it had cached."""
    for price in [v] + list(v.get("prices", {}).values()):
        if "symbol" in price:
            price["symbol"], price["name"] = NAMES[price["id"]]
            price["currency"] = price["currency"].lower()
    return v


def check(method, target, status, headers, body, a, is_stale_time):
    if method == "POST":
        same((a.status, a.headers["Allow"]), (405, "GET, HEAD, OPTIONS"))
        return
    if target in PROVIDER_DOWN:
        assert a.status in (502, 503), a.status
        same(a.headers["Cache-Control"], "no-store")
        assert "upstream" not in a.body.decode() and "coins/markets" not in a.body.decode(), a.body
        return
    same(a.status, status)
    for name in COMPARED + (["Cache-Control"] if status == 200 else []) + (["Location"] if status == 301 else []):
        same(a.headers[name], headers.get(name), name)
    if status == 301 or method in ("HEAD", "OPTIONS"):
        same(a.body, b"")
    elif status >= 400:
        same((a.headers["Content-Type"], a.headers["Cache-Control"]), ("application/json", "no-store"))
        want = "not found" if body == "404 page not found" else \
            "token not found: bit coin&x" if "%26" in target else json.loads(body)["error"]
        same(a.json(), {"error": want})
    else:
        want = mask(complete(json.loads(body)))
        if is_stale_time and target.startswith("/prices"):  # forgotten there
            want["prices"] = {"bitcoin": {**a.json()["prices"]["bitcoin"], "price": 97234.56, "cached": True,
                                          "updated_at": "<time>"}}
        elif is_stale_time and target.startswith("/simple"):
            want = {"bitcoin": {"usd": 97234.56}}
        same(mask(a.json()), want)
        same(list(a.json()), list(want), "order of the fields")
        same(a.headers["Content-Type"], "application/json")


def test_transcript(opt, fixture):
    solana = 0
    after_shib = False
    is_stale_time = False
    with Gateway(opt.bin, fixture.base(), CACHE_TTL_S=3) as g:
        for method, target, status, headers, body in blocks():
            solana += target == "/price/solana"
            if target == "/price/solana" and solana == 2:
                fixture.set("bad-json")
            elif target == "/price/solana" and solana == 3:
                fixture.set("drop")
            elif after_shib and not is_stale_time and target == "/price/bitcoin":
                time.sleep(3.2)
                is_stale_time = True
            a = g.ask(method, target)
            try:
                check(method, target, status, headers, body, a, is_stale_time)
            except AssertionError as why:
                raise AssertionError(f"{method} {target}: {why}") from why
            if target == "/price/shib":
                after_shib = True
                fixture.set("429")


TESTS = [test_transcript]
