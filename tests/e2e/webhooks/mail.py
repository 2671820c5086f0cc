"""The tables of retries to their end, and what owners of webhooks are written: the whole service and a mail server (aiosmtpd)
that encrypts, asks for a password, is down, or does not encrypt."""
import datetime
import email
import email.policy
import email.utils
import logging
import ssl
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
import warnings

from harness import match, same
from stack import BOB, Stack, free_port
from suite import install

OWNER, SENDER = "owner@example.org", "webhooks@service.example"
USER, PASSWORD = "mailer", "of:mails@home"
SECOND, MINUTE, HOUR = 1, 60, 3600
TABLES = {  # seconds before attempts 2…
    "a": [30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR],
    "b": [10 * SECOND, MINUTE, 10 * MINUTE, HOUR, 6 * HOUR],
    "c": [SECOND, 5 * SECOND, 30 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 8 * HOUR],
}


def certificate(folder):
    """(key and certificate of localhost, which is its own authority)"""
    key, cert = f"{folder}/mail.key", f"{folder}/mail.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
                    "-out", cert], check=True, capture_output=True)
    return key, cert


# It warns of what is wanted here.
logging.getLogger("mail.log").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="aiosmtpd")


class Post:
    """A mail server; keeps messages, and every command that came."""

    def __init__(self, tls=None, port=None):
        from aiosmtpd.controller import Controller
        from aiosmtpd.smtp import AuthResult
        post = self
        self.got, self.commands, self.users = [], [], []

        class Handler:
            async def handle_EHLO(self, server, session, envelope, hostname, responses):
                post.commands.append(("EHLO", session.ssl is not None))
                session.host_name = hostname
                return responses

            async def handle_MAIL(self, server, session, envelope, address, options):
                post.commands.append(("MAIL", session.ssl is not None))
                envelope.mail_from = address
                return "250 OK"

            async def handle_DATA(self, server, session, envelope):
                post.got.append(envelope)
                return "250 taken"

        def check(server, session, envelope, mechanism, data):
            post.users.append((data.login.decode(), data.password.decode(), session.ssl is not None))
            return AuthResult(success=(data.login.decode(), data.password.decode()) == (USER, PASSWORD))

        context = None
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls[1], tls[0])
        self.controller = Controller(Handler(), hostname="127.0.0.1", port=port or free_port(), tls_context=context,
                                     require_starttls=tls is not None, authenticator=check,
                                     auth_required=True, auth_require_tls=tls is not None)
        self.controller.start()
        self.port = self.controller.port

    def close(self):
        self.controller.stop()


def smtp_flags(host, port, *more):
    user = f"{USER}:{urllib.parse.quote(PASSWORD, safe='')}"
    return [f"--smtp=smtp://{user}@{host}:{port}", f"--mail-from={SENDER}", "--public-url=https://hooks.example", *more]


class Mailed:
    """A service whose projects have an owner, and one webhook of each variant that leads to a receiver that fails."""

    def __init__(self, env, *flags, status=503):
        install()
        self.stack = Stack(env.binary, env.webhooks, flags=flags)
        for v in "abc":
            self.stack.run("projects", "set", f"--project=p{v}", "--tier=enterprise", f"--email={OWNER}")
        self.sink = self.stack.sink(status)
        self.hooks = {
            "a": self.make("a", events=["transfer"], filters={"address": BOB}),
            "b": self.make("b", event_type="address_activity", config={"addresses": [BOB]}),
            "c": self.make("c", name="of a test", event_type="ADDRESS_ACTIVITY", filters={"to": BOB}),
        }

    def make(self, variant, **body):
        return self.stack.make(variant, url=self.sink.url + "?token=not-for-mails", **body)

    def record(self, v):
        return self.stack.get(f"/v1/webhooks/{self.hooks[v]['id']}", v)[1]

    def delivery(self, v):
        path = f"/v1/webhooks/{self.hooks[v]['id']}/deliveries"
        listed = self.stack.get(path, v)[1]
        newest = (listed if v == "c" else listed["deliveries"])[0]
        d = self.stack.get(f"{path}/{newest['id']}", v)[1]
        return {"status": d["status"], "next": d["nextAttemptAt" if v == "a" else "next_attempt_at"], "attempts": d["attempts"]}

    def outcomes(self):
        with urllib.request.urlopen(self.stack.url + "/metrics") as r:
            lines = [x.split() for x in r.read().decode().splitlines() if x.startswith("webhook_smtp_total")]
        return {k.split('"')[1]: int(float(v)) for k, v in lines}

    def said(self, text):
        return any(text in line for line in self.stack.lines)


def when(text):
    return datetime.datetime.fromisoformat(text).timestamp()


def read_mail(envelope):
    same((envelope.mail_from, envelope.rcpt_tos), (SENDER, [OWNER]))
    raw = envelope.original_content
    assert all(line.endswith(b"\r") and len(line) <= 999 for line in raw.split(b"\n")[:-1]), "lines"
    m = email.message_from_bytes(raw, policy=email.policy.default)
    same(m.defects, [])
    same((m["From"].addresses[0].addr_spec, m["To"].addresses[0].addr_spec), (SENDER, OWNER))
    assert abs(email.utils.parsedate_to_datetime(m["Date"]).timestamp() - time.time()) < 120, m["Date"]
    match(m["Message-ID"], r"^<[^<>@ ]+@service\.example>$")
    same((m.get_content_type(), m.get_content_charset()), ("text/plain", "utf-8"))
    return m["Subject"], m["Message-ID"], m.get_content()


def test_tables_to_their_end_and_what_owners_read(env):
    with tempfile.TemporaryDirectory() as folder:
        tls = certificate(folder)
        post = post_of(tls)
        # Spelled so it does not count as this machine: encryption is wanted.
        w = Mailed(env, *smtp_flags("LOCALHOST", post.port, f"--ca-file={tls[1]}"))
        try:
            check_tables(w)
            check_mails(w, post)
        finally:
            w.stack.close()
            post.close()


def check_tables(w):
    w.stack.send()
    left = dict(TABLES)
    for number in range(1, 9):
        attempts = {}
        for v in sorted(left):
            w.sink.take()
            w.stack.until(lambda: len(w.delivery(v)["attempts"]) == number and w.delivery(v)["status"] != "delivering",
                          f"{v}: attempt {number} is not in the record")
            d = attempts[v] = w.delivery(v)
            if number <= len(TABLES[v]):
                # counted from the end of the attempt; A and B tell whole seconds
                waits = when(d["next"]) - when(d["attempts"][-1]["at"])
                assert -1 <= waits - TABLES[v][number - 1] <= 2, f"{v}: {waits} s after attempt {number}"
                same(d["status"], "retrying")
            else:
                same((v, d["status"], number), (v, "failed", len(TABLES[v]) + 1))
                del left[v]
        assert w.sink.got.empty(), "an attempt before its time"
        # a mail that is on its way when the service ends may come twice
        w.stack.until(lambda: w.stack.query("SELECT count(*) FROM mail WHERE next IS NOT NULL") == [(0,)], "mails wait")
        w.stack.forward(9 * HOUR)
    same(left, {})
    same((w.record("a")["status"], w.record("b")["status"], w.record("c")["is_active"]), ("disabled", "paused", True))


def check_mails(w, post):
    w.stack.until(lambda: len(post.got) >= 2, "mails of A and B")
    w.stack.send()  # what comes later is skipped, and no reason for another one; C goes on
    w.sink.take()
    time.sleep(1.5)
    mails = [read_mail(e) for e in post.got]
    same(len(mails), 2, "one mail a transition")
    assert mails[0][1] != mails[1][1], "message ids"
    for v, word, cnt in (("a", "disabled", 5), ("b", "paused", 6)):
        hook = w.hooks[v]["id"]
        (subject, _, text), = [m for m in mails if hook in m[0]]
        same(subject, f"[Svc] Webhook {hook} {word} after {cnt} failed attempts")
        for fact in (hook, w.sink.url + "?...", "status 503", f"https://hooks.example/webhooks/{hook}"):
            assert fact in text, f"{fact} is not in {text}"
        assert "not-for-mails" not in text, "what stands behind ? may be secret"
        same(len([x for x in text.splitlines() if x.endswith("Z  status 503")]), cnt, text)
    same(post.users, [(USER, PASSWORD, True)] * 2, "log-ins, encrypted")
    assert all(encrypted for command, encrypted in post.commands if command == "MAIL")


def post_of(tls=None, port=None):
    install()
    return Post(tls, port)


def gone(w):
    """A receiver that is gone ends B's webhook at once."""
    w.stack.send()
    for _ in range(3):
        w.sink.take()
    w.stack.until(lambda: w.record("b")["status"] == "paused", "410 pauses at once")
    w.stack.ask("DELETE", f"/v1/webhooks/{w.hooks['a']['id']}", "a")


def test_a_mail_server_that_is_down(env):
    install()
    port = free_port()
    w = Mailed(env, *smtp_flags("127.0.0.1", port), status=410)
    try:
        gone(w)
        w.stack.until(lambda: w.said("a mail will be tried again"), "nobody tells that mails do not go out")
        w.stack.forward(61)
        w.stack.until(lambda: w.said("a mail will be tried again"), "a second try")
        post = post_of(port=port)
        try:
            w.stack.forward(5 * MINUTE + 1)
            w.stack.until(lambda: len(post.got) >= 2, "mails that waited")
            time.sleep(1.5)
            same(sorted(read_mail(e)[0] for e in post.got),
                 sorted(f"[Svc] Webhook {w.hooks[v]['id']} {word} after 1 failed attempt"
                        for v, word in (("a", "disabled"), ("b", "paused"))))
            same(w.outcomes(), {"sent": 2, "retried": 0, "given_up": 0})
        finally:
            post.close()
    finally:
        w.stack.close()


def test_nothing_is_sent_in_clear(env):
    with tempfile.TemporaryDirectory() as folder:
        post = post_of()
        w = Mailed(env, *smtp_flags("LOCALHOST", post.port), status=410)
        try:
            gone(w)
            w.stack.until(lambda: w.said("a mail will be tried again"), "it is not told")
            why = [x for x in w.stack.lines if "a mail will be tried again" in x][0]
            match(why, "STARTTLS|encrypt|TLS")
            same((post.got, post.users, [c for c, _ in post.commands if c != "EHLO"]), ([], [], []))
        finally:
            w.stack.close()
            post.close()
        # and not to a server that nobody vouches for
        post = post_of(certificate(folder))
        w = Mailed(env, *smtp_flags("LOCALHOST", post.port), status=410)
        try:
            gone(w)
            w.stack.until(lambda: w.said("a mail will be tried again"), "it is not told")
            match([x for x in w.stack.lines if "a mail will be tried again" in x][0], "certificate")
            same((post.got, post.users), ([], []))
        finally:
            w.stack.close()
            post.close()


def test_a_quota_that_is_used_up(env):
    """C, free: a thousand events a day are sent, the rest is recorded; the owner reads of it twice."""
    post = post_of()
    stack = Stack(env.binary, env.webhooks, flags=smtp_flags("127.0.0.1", post.port))
    try:
        stack.run("projects", "set", "--project=pc", "--tier=free", f"--email={OWNER}")
        sink = stack.sink()
        hook = stack.make("c", name="of a test", url=sink.url, event_type="NEW_BLOCK")
        stack.rpc("hardhat_mine", hex(1010))
        for _ in range(1000):
            sink.take()
        path = f"/v1/webhooks/{hook['id']}/deliveries?status=quota_exceeded"
        stack.until(lambda: len(stack.get(path, "c")[1]) == 10, "what is above the quota is not recorded")
        stack.until(lambda: len(post.got) >= 2, "mails of the quota")
        time.sleep(1.5)
        same(sorted(read_mail(e)[0] for e in post.got), ["[Svc] 100 % of the quota used", "[Svc] 80 % of the quota used"])
        assert sink.got.empty(), "more than the quota was sent"
        same(stack.get("/v1/usage", "c")[1]["events"], {"used": 1000, "limit": 1000, "period": "day"})
    finally:
        stack.close()
        post.close()
