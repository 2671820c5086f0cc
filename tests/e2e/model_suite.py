"""Random runs of what a development chain is asked for, against a plain model, with orderly and hard restarts between:
blocks, balances, nonces, storage, the pool, snapshots, dumps. The seeds are fixed; with CANDELA_TEST_FULL=1 there are more."""
import copy
import random
import signal
import threading
import time

from harness import ACCOUNTS, RpcError, same

GAS_PRICE = 20 * 10 ** 9
RICH = 10 ** 22
SINKS = [f"0x{0xfeed00 + i:040x}" for i in range(4)]
GHOSTS = [f"0x{0xabcd00 + i:040x}" for i in range(3)]  # nobody has their keys
EVERYBODY = ACCOUNTS + SINKS + GHOSTS

# Adds one to slot 0: 5f54600101 5f55 00, behind code that returns these eight bytes.
COUNTER = "0x67" + "5f546001015f5500" + "5f5260086018f3"


def number(text):
    return int(text, 16)


class State:
    """Accounts at a height, edits included."""

    def __init__(self):
        self.balance = {a: RICH if a in ACCOUNTS else 0 for a in EVERYBODY}
        self.nonce = dict.fromkeys(EVERYBODY, 0)
        self.slots = {}  # of the counter; None: it is not there


class Model:
    """All that a client can see, and what a restart leaves of it."""

    def __init__(self):
        self.states = [State()]  # by height
        self.hashes = [None]  # of blocks, as the node gave them
        self.txs = {}  # hash -> height
        self.gone = set()  # of blocks that are no more
        self.pool = []  # (hash, from, to, value)
        self.counter = None
        self.boot()

    def boot(self):
        self.snapshots, self.next_id = {}, 1
        self.ghosts = set()
        self.automine = True

    @property
    def now(self):
        return self.states[-1]

    def frozen(self):
        keep = ("states", "hashes", "txs", "pool", "counter", "gone")
        return copy.deepcopy({k: getattr(self, k) for k in keep})

    def take_back(self, was):
        lost = {h for h in self.txs if h not in was["txs"]} | {t[0] for t in self.pool}
        gone = (self.gone | lost) - set(was["txs"]) - {t[0] for t in was["pool"]}
        for k, v in copy.deepcopy(was).items():
            setattr(self, k, v)
        self.gone = gone

    def pay(self, state, sender, to, value, gas):
        state.balance[sender] -= value + gas * GAS_PRICE
        state.nonce[sender] += 1
        if to in state.balance:
            state.balance[to] += value


class Run:
    def __init__(self, env, seed):
        self.env, self.seed, self.rng = env, seed, random.Random(seed)
        self.data = env.dir()
        self.model = Model()
        self.value = 0
        self.dumps = []
        self.log = []
        self.start()
        self.model.hashes[0] = self.rpc("eth_getBlockByNumber", "0x0", False)["hash"]
        self.genesis = copy.deepcopy(self.model.frozen())
        self.deploy()

    def start(self):
        self.node = self.env.start(data_dir=self.data)
        self.rpc = self.node.rpc()

    # --- what the model knows of blocks comes from the node, what it knows of accounts does not ---

    def fetch_blocks(self, head):
        for n in range(len(self.model.hashes), head + 1):
            b = self.rpc("eth_getBlockByNumber", hex(n), True)
            same(b["parentHash"], self.model.hashes[-1], f"parent of block {n}")
            state = copy.deepcopy(self.model.now)
            for tx in b["transactions"]:
                waiting = next((t for t in self.model.pool if t[0] == tx["hash"]), None)
                assert waiting is not None, f"block {n} has a transaction that nobody sent: {tx['hash']}"
                self.model.pool.remove(waiting)
                self.apply(state, waiting)
                self.model.txs[tx["hash"]] = n
                self.model.gone.discard(tx["hash"])
            self.model.states.append(state)
            self.model.hashes.append(b["hash"])

    def apply(self, state, tx):
        used = number(self.rpc("eth_getTransactionReceipt", tx[0])["gasUsed"])
        _, sender, to, value = tx
        if to is None:
            state.slots = {0: 0, 1: 0}
        elif to == self.model.counter:
            state.slots[0] = (state.slots[0] + 1) % 2 ** 256
        else:
            same(used, 21000, "gas of a payment")
        self.model.pay(state, sender, to, value, used)

    def mined(self, blocks, leaves_pool=False):
        head = len(self.model.hashes) - 1 + blocks
        same(number(self.rpc("eth_blockNumber")), head, "height")
        self.fetch_blocks(head)
        assert leaves_pool or not self.model.pool, "a block left out a transaction that it has room for"

    # --- steps ---

    def deploy(self):
        h = self.rpc("eth_sendTransaction", {"from": ACCOUNTS[0], "data": COUNTER, "gas": "0x30000", "gasPrice": hex(GAS_PRICE)})
        self.model.pool.append((h, ACCOUNTS[0], None, 0))
        self.model.counter = self.rpc("eth_getTransactionReceipt", h)["contractAddress"]
        self.mined(1)

    def send_from(self, sender, to, value):
        tx = {"from": sender, "to": to, "value": hex(value), "gas": "0x30000", "gasPrice": hex(GAS_PRICE)}
        self.expected = (sender, to, value)
        h = self.rpc("eth_sendTransaction", tx)
        self.model.pool.append((h, sender, to, value))
        if self.model.automine:
            self.mined(1)

    def step_send(self):
        self.value += 1  # no two transactions are alike, so no hash is taken twice
        self.send_from(self.rng.choice(ACCOUNTS), self.rng.choice(EVERYBODY), self.value)

    def step_call(self):
        if self.model.counter is not None:
            # the limit tells calls apart whose nonces were taken back
            self.value += 1
            tx = {"from": self.rng.choice(ACCOUNTS), "to": self.model.counter, "gas": hex(0x30000 + self.value),
                  "gasPrice": hex(GAS_PRICE)}
            h = self.rpc("eth_sendTransaction", tx)
            self.model.pool.append((h, tx["from"], self.model.counter, 0))
            if self.model.automine:
                self.mined(1)

    def step_mine(self):
        n = self.rng.choice([1, 1, 2, 3, 40])
        self.rpc("hardhat_mine", hex(n))
        self.mined(n)

    def step_snapshot(self):
        same(self.rpc("evm_snapshot"), hex(self.model.next_id), "id of a snapshot")
        self.model.snapshots[self.model.next_id] = self.model.frozen()
        self.model.next_id += 1

    def step_revert(self):
        m = self.model
        which = self.rng.randrange(1, m.next_id + 1)
        same(self.rpc("evm_revert", hex(which)), which in m.snapshots, f"revert to {which}")
        if which in m.snapshots:
            m.take_back(m.snapshots[which])
            m.snapshots = {k: v for k, v in m.snapshots.items() if k < which}

    def step_set_balance(self):
        who, what = self.rng.choice(SINKS + GHOSTS), self.rng.randrange(10 ** 20, 10 ** 21)
        same(self.rpc("hardhat_setBalance", who, hex(what)), True)
        self.model.now.balance[who] = what

    def step_set_storage(self):
        if self.model.now.slots:
            value = self.rng.randrange(2 ** 64)
            self.rpc("hardhat_setStorageAt", self.model.counter, "0x1", f"0x{value:064x}")
            self.model.now.slots[1] = value

    def step_impersonate(self):
        who = self.rng.choice(GHOSTS)
        self.rpc("hardhat_impersonateAccount", who)
        self.model.ghosts.add(who)

    def step_stop_impersonating(self):
        who = self.rng.choice(GHOSTS)
        same(self.rpc("hardhat_stopImpersonatingAccount", who), who in self.model.ghosts, "was impersonated")
        self.model.ghosts.discard(who)

    def step_send_as(self):
        who = self.rng.choice(GHOSTS)
        waiting = sum(t[3] + 0x30000 * GAS_PRICE for t in self.model.pool if t[1] == who)
        if self.model.now.balance[who] < waiting + 10 ** 17:
            return
        self.value += 1
        try:
            self.send_from(who, self.rng.choice(SINKS), self.value)
            assert who in self.model.ghosts, "somebody sent who is not impersonated"
        except RpcError as e:
            assert who not in self.model.ghosts and "unknown account" in str(e), str(e)

    def step_automine(self):
        self.model.automine = self.rng.random() < 0.5
        self.rpc("evm_setAutomine", self.model.automine)

    def step_dump(self):
        if not self.model.pool:
            self.dumps.append((self.rpc("anvil_dumpState"), self.model.frozen()))
            del self.dumps[:-4]

    def step_load(self):
        """Over blocks: the accounts alone, as edits. Some nonces go back with them, so that the pool has to be empty."""
        if self.dumps and not self.model.pool and len(self.model.hashes) > 1:
            data, was = self.rng.choice(self.dumps)
            same(self.rpc("anvil_loadState", data), True)
            state = was["states"][-1]
            for who in EVERYBODY:  # one that was not there has nothing to say
                if state.balance[who] or state.nonce[who]:
                    self.model.now.balance[who], self.model.now.nonce[who] = state.balance[who], state.nonce[who]
            if was["counter"] == self.model.counter:
                self.model.now.slots.update({k: v for k, v in state.slots.items() if v})

    def step_reset(self):
        self.rpc("hardhat_reset")
        m = self.model
        m.take_back(self.genesis)
        m.boot()
        if self.dumps and self.rng.random() < 0.7:
            data, was = self.rng.choice(self.dumps)
            same(self.rpc("anvil_loadState", data), True)
            m.take_back(was)
        else:
            self.deploy()

    def restarted(self, how):
        self.rpc.close()
        same(self.node.end(how), -signal.SIGKILL if how == signal.SIGKILL else 0, "exit code")
        self.start()
        self.model.boot()
        head = number(self.rpc("eth_blockNumber"))
        if self.model.pool and head > len(self.model.hashes) - 1:  # what waited is mined at the start, by its own right
            self.mined(head - len(self.model.hashes) + 1, leaves_pool=True)

    def step_restart(self):
        self.restarted(signal.SIGTERM)

    def step_kill(self):
        self.restarted(signal.SIGKILL)

    def step_killed_under_way(self):
        """A change that is killed before its answer happened wholly or not at all."""
        who, what = self.rng.choice(SINKS), self.rng.randrange(10 ** 20, 10 ** 21)
        before = self.model.now.balance[who]
        rpc = self.node.rpc()

        def ask():
            try:
                rpc("hardhat_setBalance", who, hex(what))
            except Exception:  # noqa: BLE001 - the node is gone
                pass
        t = threading.Thread(target=ask)
        t.start()
        time.sleep(self.rng.uniform(0, 0.002))
        self.restarted(signal.SIGKILL)
        t.join()
        rpc.close()
        now = number(self.rpc("eth_getBalance", who, "latest"))
        assert now in (before, what), f"{now} of {before} or {what}"
        self.model.now.balance[who] = now

    # --- what is looked at after each step ---

    def check(self):
        m, calls, wants = self.model, [], []

        def want(what, value, method, *params):
            calls.append((method, list(params)))
            wants.append((what, value))
        head = len(m.hashes) - 1
        want("height", hex(head), "eth_blockNumber")
        for n in {head, 0, self.rng.randint(0, head)}:
            want(f"block {n}", m.hashes[n], "eth_getBlockByNumber", hex(n), False)
            state = m.states[n]
            for who in EVERYBODY:
                want(f"balance of {who} at {n}", hex(state.balance[who]), "eth_getBalance", who, hex(n))
                want(f"nonce of {who} at {n}", hex(state.nonce[who]), "eth_getTransactionCount", who, hex(n))
            for slot, value in state.slots.items():
                want(f"slot {slot} at {n}", f"0x{value:064x}", "eth_getStorageAt", m.counter, hex(slot), hex(n))
        for who in EVERYBODY:
            waiting = sum(t[1] == who for t in m.pool)
            want(f"next nonce of {who}", hex(m.now.nonce[who] + waiting), "eth_getTransactionCount", who, "pending")
        want("pool", {"pending": hex(len(m.pool)), "queued": "0x0"}, "txpool_status")
        for h in self.rng.sample(sorted(m.txs), min(4, len(m.txs))):
            want(f"receipt of {h}", hex(m.txs[h]), "eth_getTransactionReceipt", h)
        for h in self.rng.sample(sorted(m.gone), min(3, len(m.gone))):
            want(f"reverted {h}", None, "eth_getTransactionByHash", h)
        want("automine", m.automine, "hardhat_getAutomine")
        for got, (what, value), (method, _) in zip(self.rpc.batch(calls), wants, calls):
            if method == "eth_getBlockByNumber":
                got = got and got["hash"]
            elif method == "eth_getTransactionReceipt":
                got = got and got["blockNumber"]
            same(got, value, what)

    STEPS = {"send": 20, "call": 8, "mine": 6, "snapshot": 6, "revert": 6, "set_balance": 6, "set_storage": 3,
             "impersonate": 4, "stop_impersonating": 2, "send_as": 8, "automine": 4, "dump": 3, "load": 3, "reset": 1,
             "restart": 2, "kill": 4, "killed_under_way": 2}

    def go(self, steps):
        try:
            for _ in range(steps):
                name = self.rng.choices(list(self.STEPS), list(self.STEPS.values()))[0]
                self.log.append(name)
                getattr(self, f"step_{name}")()
                self.check()
        except Exception as e:
            raise AssertionError(f"seed {self.seed}, step {len(self.log)}: {type(e).__name__}: {e}; "
                                 f"last steps {' '.join(self.log[-12:])}") from e
        self.rpc.close()
        self.node.kill()


def test_random_runs_are_as_the_model_says(env):
    for seed in range(1, 200 if env.full else 7):
        Run(env, seed).go(150)
