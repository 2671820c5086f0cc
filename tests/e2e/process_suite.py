"""The process around the chain: flags, what is refused at the start and how, signals, data directories, restarts."""
import base64
import fcntl
import http.client
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import termios
import time
import urllib.error
import urllib.request

from harness import ACCOUNTS, Rpc, RpcError, Skip, match, same


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def refuse(env, *args, pattern, lines=3, environ=None):
    """The program must end soon, with a non-zero code and a short error that matches."""
    code, out, err = env.run(*args, env=environ)
    assert code > 0, f"{args}: exit code {code}"
    match(err + out, pattern, " ".join(args))
    same((err + out).startswith("error: "), True, f"{args}: starts with error: ({(err + out)[:200]!r})")
    assert len((err + out).strip().splitlines()) <= lines, f"{args}: {err + out!r}"


def send(rpc, value="0x1"):
    return rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": ACCOUNTS[1], "value": value})


def test_version_and_help(env):
    code, version, err = env.run("--version")
    same((code, err), (0, ""))
    match(version, r"^candela/\d+\.\d+\.\d+\S* \[database=v1\.4\.5, rpcchainvm=42\]\n$")
    same(json.loads(env.run("--version-json")[1])["application"], version.split()[0])
    same(env.run("version"), (0, version, ""))
    code, text, err = env.run("--help")
    same((code, err), (0, ""))
    same(env.run("help"), (0, text, ""))
    for flag in ("--network-id", "--http-port", "--data-dir", "--in-memory"):
        assert flag in text, flag
    widest = max(text.splitlines(), key=len)
    assert len(widest) <= 100, widest


def test_unknown_flags_suggest(env):
    refuse(env, "--http-prot=1", pattern="--http-prot.*\n?.*--http-port")
    refuse(env, "--in-memroy", pattern="--in-memroy.*\n?.*--in-memory")
    refuse(env, "--zzzzzzzzzzzz", pattern="--zzzzzzzzzzzz")
    refuse(env, "rnu", pattern="rnu")


def test_bad_values(env):
    for value in ("abc", "-1", "65536", "99999999999999999999", "", "80x", "1.5"):
        refuse(env, f"--http-port={value}", "--in-memory", pattern="http-port")
    refuse(env, "--log-level=loud", "--in-memory", pattern="log-level")
    refuse(env, "--in-memory=maybe", pattern="in-memory")
    refuse(env, "--http-port", pattern="http-port")
    refuse(env, "--network-id=atlantis", "--in-memory", pattern="atlantis")
    refuse(env, "--in-memory", pattern="CANDELA_HTTP_PORT.*many", environ={"CANDELA_HTTP_PORT": "many"})


def test_environment_sets_flags_and_flags_win(env):
    port = free_port()
    node = env.spawn(env=dict(os.environ, CANDELA_LOG_LEVEL="error", CANDELA_HTTP_PORT="1"), port=port)
    for _ in range(100):
        try:
            same(Rpc("127.0.0.1", port)("eth_chainId"), "0x539")
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    same(node.end(), 0)
    same(node.lines, [], "nothing below error is logged")


def test_ready_line_and_routes(env):
    node = env.node
    line = next(s for s in node.lines if '"rpc"' in s)
    said = json.loads(line)
    same(said["rpc"], node.url)
    for path in ("/", "/v1/bc/C/rpc", "/ext/bc/C/rpc"):
        same(node.rpc(path)("eth_chainId"), "0x539", path)
    with urllib.request.urlopen(node.url + "/v1/health") as r:
        same((r.status, json.loads(r.read())["healthy"]), (200, True))
    for s in node.lines:
        json.loads(s)
    same((said["ws"], said["explorer"]), (f"ws://{node.host}:{node.port}/v1/bc/C/ws", node.url + "/explorer"))
    accounts = [json.loads(s) for s in node.lines if '"account ' in s]
    same([a["address"].lower() for a in accounts], node.rpc()("eth_accounts"))
    same(accounts[0]["key"], "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
    with urllib.request.urlopen(node.url + "/") as r:
        places = r.read().decode()
    for path in ("/explorer", "/openrpc.json", "/v1/bc/C/ws", "/v1/health"):
        assert path in places, places


def test_requests_are_lines_at_debug_level(env):
    node = env.start("--log-level=debug")
    rpc = node.rpc()
    rpc("eth_chainId")
    rpc.batch([("eth_blockNumber", []), ("eth_getBalance", [ACCOUNTS[0], "latest"])])
    for call in (["no_such"], ["eth_getBalance", "0x1"]):
        try:
            rpc(*call)
        except RpcError:
            pass
    same(node.end(), 0)
    told = [json.loads(s) for s in node.lines if '"request"' in s]
    same([t["method"] for t in told], ["eth_chainId", "eth_blockNumber", "eth_getBalance", "no_such", "eth_getBalance"])
    same(["error" in t for t in told], [False, False, False, True, True])
    assert not any('"request"' in s for s in env.node.lines), "at info level there are none"


def check_banner(text):
    """The form of the terminal samples, with the lines of what exists."""
    lines = text.splitlines()
    match(lines[1], r"^  (│|\|) (●|o)─?-*─*  candela \S+ (·|-) dev network 1337 (·|-) ready in \d+ ms$")
    same(lines[3], "")
    url = re.search(r"http://127\.0\.0\.1:(\d+)", lines[4])
    same(lines[4], f"  RPC        {url[0]:<32}ws://127.0.0.1:{url[1]}/v1/bc/C/ws")
    same(lines[5], f"  Explorer   {url[0]}/explorer")
    same(lines[6], f"  Metrics    {url[0]}/v1/metrics")
    same(lines[7], f"  Chains     {'C':<32}EVM chain id 1337, a block whenever a transaction arrives")
    same(lines[8], "  Data       in memory, gone at the end")
    match(lines[10], r'^  Accounts   10 with 10,000 LUX each, from the public phrase "test test (…|\.\.\.) junk": never use them elsewhere$')
    same(lines[11], "    0  0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266  "
                    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
    assert len(lines) <= 25, lines


def check_narrow_banner(text):
    """80 columns and nothing but ASCII."""
    assert text.isascii(), text
    for line in text.splitlines():
        assert len(line) <= 80, line
    for part in ("ws://127.0.0.1:", "EVM chain id 1337", "never use them elsewhere",
                 "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"):
        assert part in text, part


def terminal(env, columns, check, **variables):
    """The program on a terminal: its banner, a line of a transaction, the end by Ctrl-C."""
    try:
        master, slave = pty.openpty()
    except OSError as e:
        raise Skip(f"no pseudo-terminal: {e}") from None
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    p = subprocess.Popen([env.binary, "--network-id=dev", "--http-port=0", "--in-memory"], stdin=slave, stdout=slave,
                         stderr=slave, start_new_session=True, env={**os.environ, **variables},
                         preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)

    def read_until(word):
        text = b""
        end = time.monotonic() + 20
        while word not in text and time.monotonic() < end:
            if select.select([master], [], [], 1)[0]:
                text += os.read(master, 65536)
        return text.decode().replace("\r\n", "\n")

    try:
        banner = read_until(b"Ctrl-C")
        same("\x1b[" in banner, "NO_COLOR" not in variables, "colours")
        check(re.sub(r"\x1b\[\d*m", "", banner))
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)", banner)[1])
        send(Rpc("127.0.0.1", port))
        line = read_until(b" wei")
        os.write(master, b"\x03")
        last = read_until(b"C-block")
        match(last, r"\n  stopped in \d+ ms . 1 C-block")
        same(p.wait(15), 0, "exit code after Ctrl-C")
        return line
    finally:
        p.kill()
        p.wait()
        os.close(master)


def test_a_terminal_gets_a_banner_and_ctrl_c(env):
    line = terminal(env, 120, check_banner, TERM="xterm", LC_ALL="C.UTF-8")
    match(line, "C 1     1 tx    21,000 gas   0xf39F…2266 → ")
    line = terminal(env, 80, check_narrow_banner, TERM="xterm", LC_ALL="C", NO_COLOR="1")
    match(line, r"C 1     1 tx    21,000 gas   0xf39F\.\.\.2266 -> ")


def test_signals_stop_in_order(env):
    for sig in (signal.SIGTERM, signal.SIGINT):
        node = env.start(data_dir=env.dir())
        send(node.rpc())
        start = time.monotonic()
        same(node.end(sig), 0, f"exit code after {sig.name}")
        assert time.monotonic() - start < 5, "took too long to stop"
    node = env.start()
    idle = node.rpc()
    idle("eth_chainId")  # an idle connection does not hold it up
    node.process.send_signal(signal.SIGHUP)  # which ends nothing, though there is no file to open again
    same(idle("eth_chainId"), "0x539")
    same(node.end(signal.SIGTERM), 0)


def mining(env):
    """A node that makes as many blocks as one call may, and would for half a minute."""
    node = env.start()
    call = {"jsonrpc": "2.0", "id": 1, "method": "hardhat_mine", "params": [hex(10_000_000)]}
    body = json.dumps(call).encode()
    sock = socket.create_connection((node.host, node.port))
    sock.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 b"Content-Length: %d\r\n\r\n" % len(body) + body)
    while int(node.rpc()("eth_blockNumber"), 16) == 0:
        time.sleep(0.02)
    return node, sock


def test_a_signal_ends_what_takes_long(env):
    node, sock = mining(env)
    node.process.send_signal(signal.SIGTERM)
    same(node.process.wait(20), 0, "exit code after a signal while blocks are made")
    sock.close()
    node, sock = mining(env)
    node.process.send_signal(signal.SIGTERM)
    time.sleep(0.1)  # the loop has heard it
    node.process.send_signal(signal.SIGTERM)
    same(node.process.wait(20), -signal.SIGTERM, "exit code after two signals")
    sock.close()


def test_a_stop_does_not_wait_for_silent_sockets(env):
    node = env.start()
    sock = socket.create_connection((node.host, node.port))
    sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
    match(sock.recv(1000).decode("latin-1"), "^HTTP/1.1 101")
    node.process.send_signal(signal.SIGTERM)
    same(node.process.wait(4), 0, "a WebSocket peer that does not take leave held up the stop")
    sock.close()


def test_state_survives_an_orderly_stop(env):
    data = env.dir()
    node = env.start(data_dir=data)
    sent = send(node.rpc(), "0x1234")
    head = node.rpc()("eth_getBlockByNumber", "latest", True)
    same(node.end(), 0)
    node = env.start(data_dir=data)
    same(node.rpc()("eth_getBlockByNumber", "latest", True), head)
    same(node.rpc()("eth_getTransactionReceipt", sent)["status"], "0x1")


def test_nothing_is_kept_in_memory(env):
    home = env.dir()
    node = env.start(env=dict(os.environ, HOME=home))
    send(node.rpc())
    same(node.rpc()("eth_blockNumber"), "0x1")
    same(node.end(), 0)
    same(os.listdir(home), [])
    node = env.start()
    same(node.rpc()("eth_blockNumber"), "0x0")


def test_data_directory_by_default_below_home(env):
    home = env.dir()
    p = subprocess.Popen([env.binary, "--network-id=dev", "--http-port=0"], stdout=subprocess.PIPE, text=True,
                         env=dict(os.environ, HOME=home))
    try:
        for line in p.stdout:
            if '"rpc"' in line:
                break
        same(os.path.isdir(home + "/.candela/dev"), True)
        same(os.stat(home + "/.candela/dev").st_mode & 0o077, 0, "others' access to the data directory")
    finally:
        p.terminate()
        same(p.wait(15), 0)
        p.stdout.close()


def test_second_process_on_the_same_directory(env):
    data = env.dir()
    node = env.start(data_dir=data)
    refuse(env, "--network-id=dev", "--http-port=0", f"--data-dir={data}", lines=2,
           pattern=f"{re.escape(data)}/dev is in use by \"{env.binary.name[:15]}\" \\(process {node.process.pid}\\)\n.*--data-dir")
    send(node.rpc())
    node.kill()
    env.start(data_dir=data)  # a lock does not outlive its process


def test_port_in_use(env):
    port = env.node.port
    who = f"port {port} is in use by \"{env.binary.name[:15]}\" \\(process {env.node.process.pid}\\)\n.*--http-port=8555"
    refuse(env, "--network-id=dev", f"--http-port={port}", "--in-memory", pattern=who, lines=2)
    data = env.dir()
    refuse(env, "--network-id=dev", f"--http-port={port}", f"--data-dir={data}", pattern=who, lines=2)
    env.start(data_dir=data)  # and the directory is free again


def test_addresses_that_are_none(env):
    refuse(env, "--network-id=dev", "--http-port=0", "--http-host=256.1.1.1", "--in-memory", pattern="256.1.1.1")
    refuse(env, "--network-id=dev", "--http-port=0", "--http-host=192.0.2.1", "--in-memory", pattern="192.0.2.1")


def test_directories_that_are_none(env):
    refuse(env, "--network-id=dev", "--http-port=0", "--data-dir=/dev/null/x", pattern="/dev/null/x", lines=2)
    refuse(env, "--network-id=dev", "--http-port=0", "--data-dir=/proc/x", pattern="/proc/x", lines=2)


def damage(env, spoil):
    """A data directory of one block, spoilt while nobody looks."""
    data = env.dir()
    node = env.start(data_dir=data)
    send(node.rpc())
    same(node.end(), 0)
    spoil(pathlib.Path(data) / "dev")
    return data


def test_damaged_directories_are_refused(env):
    def current(d):
        (d / "db" / "CURRENT").write_bytes(b"MANIFEST-999999\n")

    def genesis(d):
        (d / "genesis-C.json").write_text("{]")

    def other_genesis(d):
        f = d / "genesis-C.json"
        text = f.read_text()
        assert '"timestamp"' in text, text[:300]
        g = json.loads(text)
        g["timestamp"] = hex(int(str(g["timestamp"]), 0) + 1)
        f.write_text(json.dumps(g))

    for spoil in (current, genesis, other_genesis):
        data = damage(env, spoil)
        code, out, err = env.run("--network-id=dev", "--http-port=0", f"--data-dir={data}")
        same(code, 1, f"{spoil.__name__}: exit code")
        match(out + err, r"^error: [^\n]+\n(?:  [^\n]*\n)*$", spoil.__name__)


def test_other_layouts_are_refused(env):
    """Data of older and newer programs, and of other programs: refused, untouched."""
    def layout(n):
        def spoil(d):
            f = d / "db" / "CANDELA-KV"
            f.write_text(re.sub(r"layout \d+", f"layout {n}", f.read_text()))
        return spoil

    def foreign(d):
        (d / "db" / "CANDELA-KV").unlink()

    for spoil, pattern in ((layout(1), "older program.*--data-dir"), (layout(99), "newer program.*--data-dir"),
                           (foreign, "db")):
        data = damage(env, spoil)
        before = {p: p.stat().st_mtime_ns for p in pathlib.Path(data).rglob("*") if p.name != "LOCK"}
        refuse(env, "--http-port=0", f"--data-dir={data}", pattern=pattern, lines=2)
        after = {p: p.stat().st_mtime_ns for p in pathlib.Path(data).rglob("*") if p.name != "LOCK"}
        same(after, before, "the directory")


def test_flags_that_only_other_nodes_have_a_use_for(env):
    for flag in ("--chain-data-dir=x", "--db-read-only", "--tx-fee=14", "-tracing-enabled"):
        refuse(env, flag, pattern=f"^error: --{flag.lstrip('-').split('=')[0]} has no effect here: ", lines=2)
    # what asks for nothing is taken: defaults without a word, the rest with one in the log
    node = env.start("--tracing-enabled=false", "--db-dir=$DATA/db", "--tx-fee=1000000", "--uptime-metric-freq=1s",
                     "--meter-vms-enabled=false")
    told = [json.loads(line)["flag"] for line in node.lines if '"has no effect here' in line or "has no effect here" in line]
    same(sorted(told), ["meter-vms-enabled", "uptime-metric-freq"])
    # and files that are shared with an original may hold any
    shared = write(env, "node.json", json.dumps({"chain-data-dir": "x", "tracing-enabled": True, "meter-vms-enabled": True}))
    node = env.start(f"--config-file={shared}")
    same(sum("has no effect here" in line for line in node.lines), 2)
    code, out, err = env.run("config", "check", shared)
    same(code, 0)
    same((out + err).count("has no effect here"), 3)  # it names those with their defaults, too


def test_numbers_about_peers(env):
    """Flags of their own page; what does not fit together is refused, and why."""
    code, text, _ = env.run("help", "tuning")
    same(code, 0)
    assert "--consensus-sample-size" in text and "--http-port" not in text and "--tracing-enabled" not in text, text
    assert "--consensus-sample-size" not in env.run("help")[1]
    for flags, words in (
            (["--consensus-sample-size=5"], "k = 5, alphaConfidence = 14"),
            (["--consensus-confidence-quorum-size=13"], "alphaPreference = 14, alphaConfidence = 13"),
            (["--snow-concurrent-repolls=21"], "concurrentRepolls = 21, beta = 20"),
            (["--network-minimum-timeout=20s"], "network-minimum-timeout is above --network-maximum-timeout"),
            (["--network-initial-timeout=1s"], "network-initial-timeout is below --network-minimum-timeout"),
            (["--network-ping-frequency=31s"], "network-ping-frequency is above --network-ping-timeout"),
            (["--network-compression-type=gzip"], "must be one of none, zstd"),
            (["--network-timeout-coefficient=0.5"], "must be between 1 and 1000"),
            (["--network-timeout-coefficient=two"], "must be a number such as 0.8"),
            (["--throttler-inbound-node-max-at-large-bytes=8MiB"], "node-max-at-large-bytes is above"),
            (["--throttler-inbound-bandwidth-max-burst-size=1MiB"], "must be between"),
            (["--acp-support=1,two"], 'numbers are needed, got "two"')):
        refuse(env, "--network-id=local", "--http-port=0", *flags, pattern=words)


def test_keys_that_nobody_knows(env):
    """In a configuration file they are errors, each with its place and the nearest name."""
    path = write(env, "node.json", '{"plugin-dir": "x",\n "http-prot": 1,\n "no-such": true,\n "pruning-enabled": true}')
    code, out, err = env.run(f"--config-file={path}", "--in-memory", "--http-port=0")
    same((code, out), (1, ""))
    match(err, r"^error: \S+node.json:2:2: http-prot: no flag of this program\n.*\n.*\n +did you mean http-port\?\n")
    match(err, r"\nerror: \S+node.json:3:2: no-such: .*\n.*\n.*\n +all flags: candela help\n")
    match(err, r"\nerror: \S+node.json:4:2: pruning-enabled: .*\n.*\n.*\n.*VM configuration")
    content = base64.b64encode(b'{"http-prot": 1}').decode()
    match(env.run(f"--config-file-content={content}", "--in-memory")[2], "did you mean http-port")


def test_nothing_said_is_explained(env):
    """Without a flag, and nothing in the environment, the program says how it is called, and runs nothing."""
    home = env.dir()
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("CANDELA_", "LUXD_", "AVAGO_"))}
    p = subprocess.run([env.binary], capture_output=True, text=True, timeout=30, env=dict(bare, HOME=home))
    same((p.returncode, p.stdout, os.listdir(home)), (2, "", []))
    for words in ("candela --network-id=dev --in-memory", "candela help"):
        assert words in p.stderr, p.stderr
    p = subprocess.run([env.binary], capture_output=True, text=True, timeout=30,
                       env=dict(bare, HOME=home, CANDELA_NETWORK_ID="atlantis"))
    match(p.stderr, "atlantis")


def test_state_goes_into_a_folder(env):
    """What could not be written at the end is refused at the start."""
    folder = env.dir()
    for flag in ("--state", "--dump-state"):
        refuse(env, "--network-id=dev", "--in-memory", "--http-port=0", f"{flag}={folder}/none/state.json",
               pattern=f"no folder to write the state to: {folder}/none\n")
    node = env.start(f"--state={folder}/state.json")
    same(node.end(), 0)
    same(os.listdir(folder), ["state.json"])


def test_a_genesis_does_not_change(env):
    """--dev-genesis-file must be what the data began with; genesis files that were removed do not become others."""
    data = env.dir()
    node = env.start(data_dir=data)
    send(node.rpc())
    head = node.rpc()("eth_getBlockByNumber", "latest", False)
    same(node.end(), 0)
    own = pathlib.Path(data) / "dev" / "genesis-C.json"
    text = own.read_text()
    other = write(env, "other.json", text.replace("1337", "1338"))
    refuse(env, "--network-id=dev", "--http-port=0", f"--data-dir={data}", f"--dev-genesis-file={other}",
           pattern="began with another genesis than .*other.json\n.*--data-dir=DIR", lines=2)
    same(own.read_text(), text)
    own.unlink()  # it is written again as it was
    node = env.start(f"--dev-genesis-file={write(env, 'same.json', text)}", data_dir=data)
    same((node.rpc()("eth_getBlockByNumber", "latest", False), own.read_text()), (head, text))
    same(node.end(), 0)
    beside = own.with_name("genesis-P.bin")
    kept = beside.read_bytes()
    own.unlink()
    beside.unlink()
    refuse(env, "--network-id=dev", "--http-port=0", f"--data-dir={data}", "--dev-genesis-time=5",
           pattern="another genesis\n.*--data-dir=DIR", lines=2)
    same((own.exists(), beside.exists()), (False, False), "files of a genesis that the data does not have")
    beside.write_bytes(kept)
    node = env.start(data_dir=data)
    same((node.rpc()("eth_getBlockByNumber", "latest", False), own.read_text()), (head, text))


def test_limit_of_files(env):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    refuse(env, f"--fd-limit={most + 1}", "--http-port=0",
           pattern=rf"couldn't start node: error fd-limit: \({most + 1}\) greater than max: \({most}\)", lines=2)
    env.start(f"--fd-limit={most}", "--health-check-frequency=2s").kill()


def test_tags_of_health(env):
    node = env.start("--sybil-protection-enabled=false", data_dir=env.dir(), network="local")
    for tags, chains in (("", ["C", "P", "X"]), ("?tag=11111111111111111111111111111111LpoYY", ["C", "P", "X"]),
                         ("?tag=application", []), ("?tag=a&tag=11111111111111111111111111111111LpoYY", ["C", "P", "X"])):
        conn = http.client.HTTPConnection(node.host, node.port, timeout=30)
        conn.request("GET", f"/v1/health{tags}")
        checks = json.loads(conn.getresponse().read())["checks"]
        same((tags, sorted(set(checks) & {"C", "P", "X"}), "database" in checks), (tags, chains, True))
        conn.close()


def write(env, name, text):
    f = pathlib.Path(env.dir()) / name
    f.parent.mkdir(parents=True, exist_ok=True)
    f.write_text(text)
    return str(f)


def test_configuration_files(env):
    """flag > environment > file > default, native JSON types or text, in place or as base64."""
    flags = {"http-port": free_port(), "log-level": "debug", "api-metrics-enabled": False,
             "http-allowed-hosts": ["localhost", "node.example"], "http-idle-timeout": "1m30s"}
    path = write(env, "node.json", json.dumps(flags, indent=2))
    node = subprocess.Popen([str(env.binary), f"--config-file={path}", "--in-memory", "--log-format=json"],
                            stdout=subprocess.PIPE, text=True)
    try:
        same(json.loads(node.stdout.readline())["rpc"], f"http://127.0.0.1:{flags['http-port']}")
        rpc = Rpc("127.0.0.1", flags["http-port"])
        rpc.conn.request("GET", "/v1/health", headers={"Host": "node.example"})
        r = rpc.conn.getresponse()
        same((r.status, r.read() != b""), (200, True))
        rpc.conn.request("GET", "/v1/metrics")
        same(rpc.conn.getresponse().status, 404)
    finally:
        node.terminate()
        same(node.wait(15), 0)
        node.stdout.close()
    content = base64.b64encode(json.dumps({"http-host": "127.0.0.2"}).encode()).decode()
    same(env.start(f"--config-file-content={content}").host, "127.0.0.2")
    refuse(env, "--config-file-content=%%%", pattern="config-file-content is not base64")
    refuse(env, "--config-file=/nowhere/node.json", pattern="/nowhere/node.json")


def test_mistakes_in_files_are_shown(env):
    path = write(env, "node.json", '{\n  "log-level": "info",\n  "workers": 999\n}\n')
    refuse(env, f"--config-file={path}", lines=3,
           pattern=re.escape(f'error: {path}:3:14: "workers" must be between 0 and 256, got 999\n'
                             '     3 ') + r".   \"workers\": 999\n       .              \^\^\^\n$")
    path = write(env, "node.json", '{"log-level": "loud"}')
    refuse(env, f"--config-file={path}", pattern=r':1:15: "log-level" must be one of .*"loud"')
    for text in ("", "{", "[]", '{"workers": 1,,}', "\xff"):
        refuse(env, f"--config-file={write(env, 'node.json', text)}", pattern="node.json:")


def check(env, *args):
    code, out, err = env.run(*args)
    return code, out + err


def test_config_check(env):
    node = write(env, "node.json", '{"http-prot": 1,\n "pruning-enabled": true,\n "chain-data-dir": "x"}')
    code, text = check(env, "config", "check", node)
    same(code, 1)
    match(text, r":1:2: http-prot.*\n.*\n.*\n +did you mean http-port\?")
    match(text, r":2:2: pruning-enabled.*\n.*\n.*\n.*VM configuration")
    match(text, r":3:2: chain-data-dir: has no effect here: ")
    vm = write(env, "configs/chains/C/config.json", '{"eth-apis": ["eth"],\n "rpc-gas-cap": "many"}')
    code, text = check(env, "config", "check", vm)
    same(code, 1)
    match(text, r"config\.json:2:2: rpc-gas-cap: ")
    root = str(pathlib.Path(vm).parents[3])
    code, text = check(env, "config", "check", f"--data-dir={root}")
    same(code, 1)
    upgrade = write(env, "u.json", '{"stateUpgrades": [{"blockTimestamp": 1, "acounts": {}}]}')
    code, text = check(env, "config", "check", upgrade)
    match(text, r"acounts.*\n.*\n.*\n +did you mean \"accounts\"\?")
    same(check(env, "config", "check")[0], 0)
    same(check(env, "config", "chekc")[0], 2)
    # the same file keeps a node from starting
    refuse(env, "--in-memory", "--http-port=0", f"--data-dir={root}", pattern=r"config\.json:2:2: rpc-gas-cap")


def test_genesis_check(env):
    data = env.dir()
    node = env.start(data_dir=data)
    first = node.rpc()("eth_getBlockByNumber", "0x0", False)
    same(node.end(), 0)
    path = pathlib.Path(data) / "dev" / "genesis-C.json"
    code, text = check(env, "genesis", "check", str(path))
    same(code, 0)
    match(text, r"genesis-C\.json: good, chain id 1337, 1\d accounts?\n  block  0x[0-9a-f]{64}\n  state  " + first["stateRoot"])
    g = json.loads(path.read_text())
    g["config"]["minBaseFee"] = 1
    code, text = check(env, "genesis", "check", write(env, "g.json", json.dumps(g, indent=1)))
    match(text, r"g\.json:\d+:\d+: config\.minBaseFee: .*\n.*\n.*\^+\n +it belongs into \"config\.feeConfig\"")
    del g["alloc"]
    same(check(env, "genesis", "check", write(env, "g.json", json.dumps(g)))[0], 1)
    same(check(env, "genesis", "check", "/nowhere")[0], 1)
    same(check(env, "genesis")[0], 2)
    # and a network can begin with such a file
    g = json.loads(path.read_text())
    g["timestamp"] = "0x60000000"
    node = env.start(f"--dev-genesis-file={write(env, 'g.json', json.dumps(g))}")
    same(node.rpc()("eth_getBlockByNumber", "0x0", False)["timestamp"], "0x60000000")
    node = env.start("--dev-genesis-time=1700000000")
    same(node.rpc()("eth_getBlockByNumber", "0x0", False)["timestamp"], hex(1700000000))


def test_chain_configuration_reaches_the_chain(env):
    vm = {"batch-request-limit": 2, "eth-apis": ["eth", "web3", "debug-tracer"], "http-body-limit": 2000,
          "rpc-gas-cap": 100000}
    root = pathlib.Path(write(env, "chains/C/config.json", json.dumps(vm))).parents[1]
    content = base64.b64encode(json.dumps({"C": {"Config": base64.b64encode(json.dumps(vm).encode()).decode()}})
                               .encode()).decode()
    for flag in (f"--chain-config-dir={root}", f"--chain-config-content={content}"):
        rpc = env.start(flag).rpc()
        same("error" in rpc.post('{"jsonrpc":"2.0","id":1,"method":"net_version"}'), True)
        calls = [{"jsonrpc": "2.0", "id": i, "method": "eth_chainId"} for i in range(3)]
        same(len(rpc.post(json.dumps(calls[:2]))), 2)
        match(json.dumps(rpc.post(json.dumps(calls))), "batch too large")
        trace = rpc("debug_traceCall", {"to": "0x" + "77" * 20}, "latest", {"tracer": "callTracer"})
        same(int(trace["gas"], 16), 100000, "gas of a call that is traced")
        rpc.conn.request("POST", "/", b" " * 3000, {"Content-Type": "application/json"})
        same(rpc.conn.getresponse().status, 413)
    env.node.rpc()("net_version")
    refuse(env, "--in-memory", "--http-port=0", "--chain-config-dir=/nowhere", pattern="/nowhere is no directory")
    bad = write(env, "chains/C/upgrade.json", '{"precompileUpgrades": 7}')
    refuse(env, "--in-memory", "--http-port=0", f"--chain-config-dir={pathlib.Path(bad).parents[1]}",
           pattern="upgrade.json.*precompileUpgrades")


def test_https(env):
    d = env.dir()
    if shutil.which("openssl") is None:
        raise Skip("no openssl program")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                    "-keyout", f"{d}/key.pem", "-out", f"{d}/cert.pem"], check=True, capture_output=True)
    tls = ("--http-tls-enabled", f"--http-tls-cert-file={d}/cert.pem", f"--http-tls-key-file={d}/key.pem")
    node = env.start(*tls)
    same(json.loads(next(s for s in node.lines if '"rpc"' in s))["rpc"], f"https://127.0.0.1:{node.port}")
    trust = ssl.create_default_context(cafile=f"{d}/cert.pem")
    with urllib.request.urlopen(f"https://127.0.0.1:{node.port}/v1/health", context=trust) as r:
        same(json.loads(r.read())["healthy"], True)
    refuse(env, "--in-memory", "--http-port=0", "--http-tls-enabled", pattern="--http-tls-cert-file=FILE", lines=2)
    refuse(env, "--in-memory", "--http-port=0", *tls[:2], "--http-tls-key-file=/nowhere.pem", pattern="/nowhere.pem", lines=2)
    refuse(env, "--in-memory", "--http-port=0", *tls[:2], f"--http-tls-key-file={d}/cert.pem", pattern="cert.pem", lines=2)


def get(url):
    try:
        with urllib.request.urlopen(url) as r:
            return r.status, r.read().decode()
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read().decode()


def test_health(env):
    node = env.start(data_dir=env.dir())
    for prefix in ("/v1", "/ext"):
        for path, names in (("/health", {"C", "P", "X", "bootstrapped", "database", "diskspace"}),
                            ("/health/health", {"C", "P", "X", "bootstrapped", "database", "diskspace"}),
                            ("/health/readiness", {"bootstrapped"}), ("/health/liveness", set())):
            status, text = get(node.url + prefix + path)
            said = json.loads(text)
            same((status, said["healthy"], set(said["checks"])), (200, True, names), prefix + path)
            for one in said["checks"].values():
                match(one["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
                same(isinstance(one["duration"], int), True)
    said = json.loads(get(node.url + "/v1/health")[1])["checks"]["C"]["message"]
    same(said["engine"]["consensus"]["lastAcceptedHeight"], 0)
    rpc = node.rpc("/v1/health")
    same(rpc("health.readiness"), json.loads(get(node.url + "/v1/health/readiness")[1]))
    same(get(node.url + "/v1/nothing"), (404, "404 page not found\n"))


def test_service_goes_on_while_stopping(env):
    node = env.start("--http-shutdown-wait=2s")
    node.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    status, text = get(node.url + "/v1/health")
    said = json.loads(text)["checks"]["shuttingDown"]
    same((status, said["message"], said["error"]), (503, {"isShuttingDown": True}, "server shutting down"))
    same((said["contiguousFailures"] >= 1, "timeOfFirstFailure" in said), (True, True))
    same(get(node.url + "/v1/health/readiness")[0], 200)
    same(node.rpc()("eth_chainId"), "0x539")
    start = time.monotonic()
    same(node.process.wait(10), 0)
    assert time.monotonic() - start > 0.5


def parse_metrics(text):
    """The Prometheus text form, strictly: HELP and TYPE once and before the samples of a name, names in order."""
    types, samples, current = {}, {}, None
    for line in text.splitlines():
        if m := re.fullmatch(r"# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) .+", line):
            assert m[1] not in types, line
            current = m[1]
        elif m := re.fullmatch(r"# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)", line):
            same(m[1], current)
            types[m[1]] = m[2]
        else:
            m = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)', line)
            assert m, line
            same(m[1].removesuffix("_bucket").removesuffix("_sum").removesuffix("_count") in (current, m[1]) or
                 m[1] == current, True, line)
            assert m[1] + (m[2] or "") not in samples, line
            samples[m[1] + (m[2] or "")] = float(m[3])
    assert text.endswith("\n")
    return samples


def test_metrics(env):
    node = env.start("--memory=256MiB")
    send(node.rpc())
    end = time.monotonic() + 5  # gauges follow the block, they are no part of it
    while "eth_chain_head_block 1\n" not in get(node.url + "/v1/metrics")[1] and time.monotonic() < end:
        time.sleep(0.02)
    with urllib.request.urlopen(node.url + "/v1/metrics") as r:
        same(r.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8; escaping=underscores")
        got = parse_metrics(r.read().decode())
    same(parse_metrics(get(node.url + "/ext/metrics")[1]).keys() >= got.keys(), True)
    want = {'lux_snowman_last_accepted_height{chain="C"}': 1, 'lux_snowman_blks_accepted_count{chain="C"}': 1,
            "lux_evm_eth_chain_head_block": 1, "lux_evm_eth_txpool_pending": 0, "lux_evm_eth_txpool_queued": 0,
            'lux_rpc_calls_total{method="eth_sendTransaction"}': 1, "lux_rpc_requests_total": 1,
            'lux_health_checks_failing{check="health",tag="all"}': 0}
    same({k: got.get(k) for k in want}, want)
    shares = [v for k, v in got.items() if k.startswith("lux_memory_budget_bytes{")]
    same(sum(shares), 256 << 20, "the budget is divided without rest")
    for name in ("resident_memory_bytes", "cpu_seconds_total", "open_fds", "start_time_seconds"):
        assert got["lux_process_" + name] > 0, name
    assert got['lux_process_thread_cpu_milliseconds{thread="C"}'] >= 0
    refuse(env, "--memory=1MiB", "--in-memory", pattern="--memory must be between")


def test_log_file(env):
    folder = pathlib.Path(env.dir()) / "logs"
    node = env.start(f"--log-dir={folder}", "--log-level=debug", "--log-display-level=info")
    send(node.rpc())
    first = (folder / "main.log").read_text()
    match(first, r'"msg":"ready"')
    (folder / "main.log").rename(folder / "moved.log")
    node.process.send_signal(signal.SIGHUP)
    late = time.monotonic() + 10
    while not (folder / "main.log").exists():
        assert time.monotonic() < late, "not opened again"
        time.sleep(0.02)
    same(node.end(), 0)
    match((folder / "main.log").read_text(), r'"msg":"stopped"')
    same((folder / "moved.log").read_text(), first)
    refuse(env, "--log-dir=/proc/nowhere", pattern="/proc/nowhere")


def test_top_and_du(env):
    data = env.dir()
    node = env.start(data_dir=data)
    send(node.rpc())
    code, out, err = env.run("top", f"--http-port={node.port}")
    same((code, err), (0, ""))
    match(out, r"^C 1 ")
    match(out, r"eth_sendTransaction +\d+\.\d +1\n")
    for running in (True, False):
        code, out, err = env.run("du", f"--data-dir={data}")
        same((code, err), (0, ""))
        rows = {line.split()[0]: int(line.split()[1]) for line in out.splitlines()[1:-1]}
        same(rows["receipts"] >= 1 and rows["state"] >= 10 and rows["blocks"] >= 4, True, out)
        same(rows["all"], sum(v for k, v in rows.items() if k != "all"))
        if running:
            same(node.end(), 0)
    same(env.run("top", f"--http-port={node.port}")[0], 1)
    same(env.run("du", f"--data-dir={env.dir()}")[0], 1)


def test_without_the_log_index(env):
    """Logs are found all the same; what was not indexed is when it is wanted again."""
    data = env.dir()
    conf = base64.b64encode(json.dumps({"C": {"Config": base64.b64encode(b'{"skip-log-indexing": true}').decode()}}).encode())
    logger = "0x" + "10".rjust(40, "0")
    want = {"fromBlock": "0x1", "toBlock": "latest", "address": logger, "topics": ["0x" + "7".rjust(64, "0")]}
    found = []
    for turn, flags in enumerate([(), (f"--chain-config-content={conf.decode()}",), ()]):
        node = env.start(*flags, data_dir=data)
        rpc = node.rpc()
        if turn == 0:
            rpc("hardhat_setCode", logger, "0x60075f5fa100")  # LOG1 with topic 7
        rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": logger, "gas": "0x186a0"})
        rpc("hardhat_mine", 100)
        rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "to": ACCOUNTS[1], "gas": "0x186a0"})
        logs = rpc("eth_getLogs", want)
        same(logs[:len(found)], found)
        same(len(logs), turn + 1)
        found = logs
        same("no log index" in env.run("top", f"--http-port={node.port}")[1], turn == 1)
        same(node.end(), 0)
        rows = {line.split()[0]: int(line.split()[1]) for line in env.run("du", f"--data-dir={data}")[1].splitlines()[1:-1]}
        same(rows["log-index"], {0: 2, 1: 0, 2: 6}[turn])


def test_process_file(env):
    data = env.dir()
    node = env.start(data_dir=data)
    path = pathlib.Path(data) / "dev" / "process.json"
    same(json.loads(path.read_text()), {"pid": node.process.pid, "uri": node.url, "stakingAddress": ""})
    same(node.end(), 0)
    same(path.exists(), False)


def on_small_disk(size, script, *args):
    """Runs a shell script with a disk of its own of that size mounted at $1: (exit code, output)."""
    with tempfile.TemporaryDirectory(prefix="candela-e2e-") as at:
        p = subprocess.run(["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-m", "sh", "-c",
                            f"mount -t tmpfs -o size={size} none $1 || exit 99\n{script}", "sh", at, *args],
                           capture_output=True, text=True, timeout=60)
    if p.returncode == 99 or "unshare:" in p.stderr:
        raise Skip(f"cannot mount here: {p.stderr.strip()[:100]}")
    return p.returncode, p.stdout + p.stderr


def test_full_disk_at_the_start(env):
    for size in ("4k", "64k", "20m"):
        code, text = on_small_disk(size, 'exec "$2" --http-port=0 --data-dir=$1/d', str(env.binary))
        assert code == 1, f"{size}: exit code {code}: {text}"
        match(text, r"^error: no space left for .*/d/dev: \d+ kB are free, 32000 kB are needed\n +make room, or choose another: --data-dir=DIR\n$", size)
        assert len(text.splitlines()) == 2, text


def test_read_only_disk(env):
    data = env.dir()
    node = env.start(data_dir=data)
    send(node.rpc())
    same(node.end(), 0)
    code, text = on_small_disk("50m", 'cp -r "$3/." $1/ && mount -o remount,ro $1 && exec "$2" --http-port=0 --data-dir=$1',
                               str(env.binary), data)
    same(code, 1, text)
    match(text, r"^error: .*Read-only file system\n +make it writable for this user, or choose another: --data-dir=DIR\n$")


def test_directories_without_permission(env):
    if os.geteuid() == 0 and not os.path.exists("/usr/bin/setpriv"):
        raise Skip("root may write everywhere")
    data = env.dir()
    os.chmod(data, 0o555)
    args = [str(env.binary), "--http-port=0", f"--data-dir={data}"]
    if os.geteuid() == 0:
        args = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *args]
    p = subprocess.run(args, capture_output=True, text=True, timeout=30)
    if "setpriv" in p.stderr or "Permission denied" in p.stderr and "error: " not in p.stderr:
        raise Skip("cannot become another user")
    same(p.returncode, 1)
    match(p.stderr, r"^error: \S+: cannot [^\n]+: Permission denied\n +make it writable for this user, or choose another: --data-dir=DIR\n$")


def test_idle_memory_and_start(env):
    """Numbers of the acceptance, with the machine's noise taken out by the best of some starts."""
    def first_answer(node):
        node.wait_ready()
        node.rpc()("eth_blockNumber")
        return time.monotonic() - node.started

    best = min(first_answer(env.spawn(data_dir=env.dir())) for _ in range(5))
    with open(f"/proc/{env.nodes[-1].process.pid}/status", encoding="utf-8") as f:
        rss = int(re.search(r"VmRSS:\s+(\d+) kB", f.read())[1])
    with open(env.binary, "rb") as f:
        is_slow = b"__asan_init" in f.read()  # sanitizers take memory and time of their own
    if not is_slow:
        assert rss <= 30 * 1024, f"{rss} kB in use"
        assert best <= 0.25, f"{best * 1000:.0f} ms to the first answer"
    print(f"   first answer after {best * 1000:.0f} ms, {rss / 1024:.1f} MiB in use")


def test_commit(env):
    """The node names the commit that it was built from, where there was a repository."""
    node = env.spawn().wait_ready()
    said = node.rpc("/v1/info")("info.getNodeVersion")["gitCommit"]
    assert re.fullmatch("([0-9a-f]{40})?", said), said
    same(node.end(), 0)
