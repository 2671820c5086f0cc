#!/usr/bin/env python3
"""Unit tests of the state test mutations."""

import json
import random
import sys
import unittest

import mutate

ADDRESS = "0x" + "aa" * 20
SENDER = "0x" + "bb" * 20


def sample(_rng):
    account = {"balance": "0x0f4240", "nonce": "0x00", "code": "0x", "storage": {}}
    return {
        "env": {"currentCoinbase": ADDRESS, "currentNumber": "0x01", "currentBeaconRoot": "0x00"},
        "pre": {
            ADDRESS: account | {"code": "0x6005565b5b600160005500", "storage": {"0x01": "0x02"}},
            SENDER: dict(account),
        },
        "transaction": {
            "nonce": "0x00",
            "secretKey": "0x" + "45" * 32,
            "sender": SENDER,
            "to": ADDRESS,
            "data": ["0x", "0x01"],
            "gasLimit": ["0x061a80"],
            "value": ["0x00"],
            "maxFeePerGas": "0x10",
            "maxPriorityFeePerGas": "0x01",
            "accessLists": [None, [{"address": ADDRESS, "storageKeys": []}]],
        },
    }


class ByteCode(unittest.TestCase):
    def test_assemble_gives_back_what_was_disassembled(self):
        rng = random.Random(1)
        for _ in range(500):
            code = rng.randbytes(rng.randrange(80))
            self.assertEqual(mutate.assemble(mutate.disassemble(code), relink=False), code)

    def test_relink_follows_a_moved_jump_destination(self):
        code = bytes.fromhex("600456fe5b00")  # PUSH1 4, JUMP, INVALID, JUMPDEST, STOP
        ops = mutate.disassemble(code)
        ops.insert(3, [0xFE, b"", None])
        self.assertEqual(mutate.assemble(ops, relink=True).hex(), "600556fefe5b00")
        ops = mutate.disassemble(code)
        ops.insert(3, [0xFE, b"", None])
        self.assertEqual(mutate.assemble(ops, relink=False).hex(), "600456fefe5b00")

    def test_push_is_shortest(self):
        self.assertEqual(mutate.push(0)[:2], [0x60, b"\x00"])
        self.assertEqual(mutate.push(256)[:2], [0x61, b"\x01\x00"])
        self.assertEqual(mutate.push(2**256 - 1)[:2], [0x7F, b"\xff" * 32])


class Cases(unittest.TestCase):
    def test_same_seed_same_case(self):
        first, second = (mutate.Mutator(sample).case(random.Random("7/1")) for _ in range(2))
        self.assertEqual(json.dumps(first), json.dumps(second))

    def test_cases_are_sayable_at_their_fork(self):
        mutator, rng = mutate.Mutator(sample), random.Random(3)
        for _ in range(3000):
            case = mutator.case(rng)
            (name,) = case["post"]
            fork, env, tx = mutate.FORKS.index(name), case["env"], case["transaction"]
            self.assertEqual("currentRandom" in env, fork >= mutate.PARIS)
            self.assertEqual("currentBaseFee" in env, fork >= mutate.LONDON)
            self.assertEqual("currentExcessBlobGas" in env, fork >= mutate.CANCUN)
            self.assertNotEqual("gasPrice" in tx, "maxFeePerGas" in tx)
            self.assertFalse(fork < mutate.LONDON and "maxFeePerGas" in tx)
            self.assertFalse(fork < mutate.BERLIN and "accessLists" in tx)
            self.assertFalse("blobVersionedHashes" in tx and (fork < mutate.CANCUN or not tx["to"]))
            for account in case["pre"].values():
                stored = any(mutate.parse_int(value) for value in account["storage"].values())
                bare = account["code"] == "0x" and mutate.parse_int(account["nonce"]) == 0
                self.assertFalse(stored and bare)
                if account["code"].startswith("0xef01"):
                    self.assertTrue(fork >= mutate.PRAGUE and mutate.is_delegation(account["code"]))

    def test_numbers_have_whole_bytes(self):
        self.assertEqual([mutate.quantity(n) for n in (0, 15, 256)], ["0x00", "0x0f", "0x0100"])


if __name__ == "__main__":
    done = unittest.main(exit=False).result
    failed = len(done.failures) + len(done.errors)
    print(f"{done.testsRun - failed} passed, {failed} failed")
    sys.exit(failed > 0)
