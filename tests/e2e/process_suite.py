"""The process around the chain: flags, what is refused at the start and how, signals, data directories, restarts."""
import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import socket
import subprocess
import termios
import time
import urllib.request

from harness import ACCOUNTS, Rpc, Skip, match, same


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
    match(version, r"^candela/\d+\.\d+\.\d+\S*\n$")
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
    with urllib.request.urlopen(node.url + "/v1/metrics") as r:
        text = r.read().decode()
    match(text, r"(?m)^lux_\w+(\{[^}]*\})? [\d.e+]+$")
    for s in node.lines:
        json.loads(s)


def test_a_terminal_gets_a_banner_and_ctrl_c(env):
    try:
        master, slave = pty.openpty()
    except OSError as e:
        raise Skip(f"no pseudo-terminal: {e}") from None
    p = subprocess.Popen([env.binary, "--network-id=dev", "--http-port=0", "--in-memory"], stdin=slave, stdout=slave,
                         stderr=slave, start_new_session=True,
                         preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(slave)
    text = b""
    end = time.monotonic() + 20
    while b"Ctrl-C" not in text and time.monotonic() < end:
        if select.select([master], [], [], 1)[0]:
            text += os.read(master, 65536)
    try:
        for word in (b"http://127.0.0.1:", b"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", b"junk"):
            assert word in text.lower(), f"{word} is not in the banner: {text!r}"
        os.write(master, b"\x03")
        same(p.wait(15), 0, "exit code after Ctrl-C")
    finally:
        p.kill()
        p.wait()
        os.close(master)


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
    node.process.send_signal(signal.SIGTERM)
    same(node.end(signal.SIGTERM), 0, "exit code after two signals")


def test_state_survives_an_orderly_stop(env):
    data = env.dir()
    node = env.start(data_dir=data)
    sent = send(node.rpc(), "0x1234")
    head = node.rpc()("eth_getBlockByNumber", "latest", True)
    same(node.end(), 0)
    node = env.start(data_dir=data)
    same(node.rpc()("eth_getBlockByNumber", "latest", True), head)
    same(node.rpc()("eth_getTransactionReceipt", sent)["status"], "0x1")
    assert node.ready_s < 2, f"restart took {node.ready_s:.1f} s"


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
    refuse(env, "--network-id=dev", "--http-port=0", f"--data-dir={data}", pattern=data, lines=1)
    send(node.rpc())
    node.kill()
    env.start(data_dir=data)  # a lock does not outlive its process


def test_port_in_use(env):
    port = env.node.port
    refuse(env, "--network-id=dev", f"--http-port={port}", "--in-memory", pattern=str(port), lines=1)
    data = env.dir()
    refuse(env, "--network-id=dev", f"--http-port={port}", f"--data-dir={data}", pattern=str(port), lines=1)
    env.start(data_dir=data)  # and the directory is free again


def test_addresses_that_are_none(env):
    refuse(env, "--network-id=dev", "--http-port=0", "--http-host=256.1.1.1", "--in-memory", pattern="256.1.1.1")
    refuse(env, "--network-id=dev", "--http-port=0", "--http-host=192.0.2.1", "--in-memory", pattern="192.0.2.1")


def test_directories_that_are_none(env):
    refuse(env, "--network-id=dev", "--http-port=0", "--data-dir=/dev/null/x", pattern="/dev/null/x", lines=1)
    refuse(env, "--network-id=dev", "--http-port=0", "--data-dir=/proc/x", pattern="/proc/x", lines=1)


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
