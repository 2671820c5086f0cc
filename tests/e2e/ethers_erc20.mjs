// An ethers v6 client as a user writes it, against a development network that was just started.
//
//   node ethers_erc20.mjs before URL FILE     deploys, sends, reads; notes in FILE what it saw
//   node ethers_erc20.mjs after URL FILE      finds all of it again after a restart, and goes on
//
// One line a check, "ok NAME" or "FAIL NAME: reason"; the exit code is 1 when one failed.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import {
    Contract,
    ContractFactory,
    HDNodeWallet,
    Interface,
    JsonRpcProvider,
    MaxUint256,
    NonceManager,
    ZeroAddress,
    id,
    isError,
    parseEther,
    parseUnits,
    toBeHex,
    toQuantity,
    verifyMessage,
} from "ethers";
import { contracts } from "./check.mjs";

const [phase, url, file] = process.argv.slice(2);
const phrase = "test test test test test test test test test test test junk";
const account = (i) => HDNodeWallet.fromPhrase(phrase, undefined, `m/44'/60'/0'/0/${i}`);

let failed = 0;

async function check(name, body) {
    const start = performance.now();
    try {
        await body();
        console.log(`ok ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
    } catch (e) {
        failed++;
        const at = e.stack?.match(/ethers_erc20\.mjs:\d+/)?.[0] ?? "";
        console.log(`FAIL ${name}: ${String(e.message).split("\n").slice(0, 6).join(" ")} (${at})`);
    }
}

/* JSON has no bigints: numbers are written as text and compared as text. */
const plain = (v) => JSON.parse(JSON.stringify(v, (_, x) => (typeof x === "bigint" ? x.toString() : x)));

/* ethers remembers every answer for 250 ms, longer than sending, mining and reading again takes here. */
const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1 });
const [alice, bob, carol] = [0, 1, 2].map((i) => account(i).connect(provider));

/* What has to be the same after a restart. */
async function snapshot(token, beacon, hashes) {
    const people = [alice.address, bob.address, carol.address, ZeroAddress];
    const head = await provider.getBlockNumber();
    const blocks = [];
    for (let n = 0; n <= head; n++) {
        const b = await provider.send("eth_getBlockByNumber", [toQuantity(n), true]);
        assert.notEqual(b, null, `block ${n}`);
        blocks.push(b);
    }
    return plain({
        head,
        blocks,
        receipts: await Promise.all(hashes.map((h) => provider.send("eth_getTransactionReceipt", [h]))),
        txs: await Promise.all(hashes.map((h) => provider.send("eth_getTransactionByHash", [h]))),
        balances: await Promise.all(people.map((p) => provider.getBalance(p))),
        nonces: await Promise.all(people.map((p) => provider.getTransactionCount(p))),
        tokens: await Promise.all(people.map((p) => token.balanceOf(p))),
        allowance: await token.allowance(alice.address, bob.address),
        supply: await token.totalSupply(),
        turns: await beacon.turns(),
        slot: await provider.getStorage(await beacon.getAddress(), 0),
        code: await provider.getCode(await token.getAddress()),
        logs: await provider.send("eth_getLogs", [{ fromBlock: "0x0", toBlock: "latest" }]),
    });
}

async function before() {
    const { Token: tokenCode, Beacon: beaconCode } = contracts();
    const supply = parseUnits("1000000", 18);
    const hashes = []; // of every transaction sent
    let token, beacon;

    const mined = async (sent) => {
        hashes.push(sent.hash);
        return sent.wait(1);
    };

    await check("network and accounts", async () => {
        assert.equal((await provider.getNetwork()).chainId, 1337n);
        const accounts = await provider.listAccounts();
        assert.equal(accounts.length, 10);
        for (let i = 0; i < 10; i++) {
            assert.equal(accounts[i].address, account(i).address);
            assert.equal(await provider.getBalance(accounts[i]), parseEther("10000"));
        }
        assert.equal(await provider.getBlockNumber(), 0);
        assert.match(await provider.send("web3_clientVersion", []), /^anvil\/v[\d.]+ candela\//);
    });

    await check("deploy an OpenZeppelin ERC-20", async () => {
        const factory = new ContractFactory(tokenCode.abi, tokenCode.bytecode, alice);
        token = await factory.deploy(supply);
        const receipt = await mined(token.deploymentTransaction());
        await token.waitForDeployment();
        assert.equal(receipt.status, 1);
        assert.equal(receipt.contractAddress, await token.getAddress());
        assert.notEqual(await token.getDeployedCode(), null);
        assert.equal(await token.name(), "Lumen");
        assert.equal(await token.symbol(), "LMN");
        assert.equal(await token.decimals(), 18n);
        assert.equal(await token.balanceOf(alice), supply);
    });

    await check("transfer and its log", async () => {
        const receipt = await mined(await token.transfer(bob, 250n));
        assert.equal(receipt.logs.length, 1);
        const log = receipt.logs[0];
        assert.equal(log.fragment.name, "Transfer");
        assert.deepEqual([...log.args], [alice.address, bob.address, 250n]);
        assert.equal(await token.balanceOf(bob), 250n);
        assert.equal(await token.balanceOf(alice), supply - 250n);
    });

    await check("approve and transferFrom by a second wallet", async () => {
        await mined(await token.approve(bob, 100n));
        assert.equal(await token.allowance(alice, bob), 100n);
        const receipt = await mined(await token.connect(bob).transferFrom(alice, carol, 60n));
        assert.equal(receipt.from, bob.address);
        assert.equal(await token.allowance(alice, bob), 40n);
        assert.equal(await token.balanceOf(carol), 60n);
    });

    await check("queryFilter, topics, block ranges", async () => {
        const all = await token.queryFilter(token.filters.Transfer());
        assert.equal(all.length, 3);
        assert.deepEqual([...all[0].args], [ZeroAddress, alice.address, supply]);
        assert.equal((await token.queryFilter(token.filters.Transfer(alice.address))).length, 2);
        assert.equal((await token.queryFilter(token.filters.Transfer(null, carol.address))).length, 1);
        assert.equal((await token.queryFilter(token.filters.Approval())).length, 1);
        assert.equal((await token.queryFilter("Transfer", 0, 0)).length, 0);
        const last = all.at(-1);
        const byHash = await provider.getLogs({ blockHash: last.blockHash, address: await token.getAddress() });
        assert.equal(byHash.length, 1);
        assert.equal(byHash[0].transactionHash, last.transactionHash);
        const either = [id("Transfer(address,address,uint256)"), id("Approval(address,address,uint256)")];
        const logs = await provider.getLogs({ fromBlock: 0, toBlock: "latest", topics: [either] });
        assert.equal(logs.length, 4);
        assert.equal((await provider.getLogs({ fromBlock: 0, address: bob.address })).length, 0);
    });

    await check("a transfer that must fail: custom error", async () => {
        const want = (e) => {
            assert.ok(isError(e, "CALL_EXCEPTION"), e.message);
            const revert = e.revert ?? token.interface.parseError(e.data);
            assert.equal(revert.name, "ERC20InsufficientBalance");
            assert.deepEqual([...revert.args], [carol.address, 60n, 61n]);
            return true;
        };
        await assert.rejects(token.connect(carol).transfer(bob, 61n), want);
        await assert.rejects(token.connect(carol).transfer.staticCall(bob, 61n), want);
        await assert.rejects(token.connect(carol).transfer.estimateGas(bob, 61n), want);
    });

    await check("a failing transaction in a block", async () => {
        const sent = await token.connect(carol).transfer(bob, 61n, { gasLimit: 100000n });
        await assert.rejects(mined(sent), (e) => {
            assert.ok(isError(e, "CALL_EXCEPTION"), e.message);
            assert.equal(e.receipt.status, 0);
            assert.equal(e.receipt.logs.length, 0);
            return true;
        });
        assert.equal(await token.balanceOf(carol), 60n);
    });

    await check("estimateGas is enough and not wasteful", async () => {
        const estimate = await token.transfer.estimateGas(bob, 1n);
        const receipt = await mined(await token.transfer(bob, 1n, { gasLimit: estimate }));
        assert.equal(receipt.status, 1);
        assert.ok(estimate >= receipt.gasUsed && estimate * 100n <= receipt.gasUsed * 150n,
                  `${estimate} for ${receipt.gasUsed}`);
        assert.equal(await provider.estimateGas({ from: alice, to: carol, value: 1n }), 21000n);
    });

    await check("fee data and what is paid", async () => {
        const fees = await provider.getFeeData();
        const head = await provider.getBlock("latest");
        assert.equal(fees.maxPriorityFeePerGas, 1000000000n);
        assert.equal(fees.maxFeePerGas, 2n * head.baseFeePerGas + fees.maxPriorityFeePerGas);
        assert.ok(fees.gasPrice >= head.baseFeePerGas);
        const had = await provider.getBalance(bob);
        const receipt = await mined(await bob.sendTransaction({ to: carol, value: 5n }));
        assert.equal(receipt.gasUsed, 21000n);
        assert.equal(await provider.getBalance(bob), had - 5n - receipt.fee);
        const block = await receipt.getBlock();
        assert.equal(receipt.gasPrice, block.baseFeePerGas + fees.maxPriorityFeePerGas);
        const history = await provider.send("eth_feeHistory", ["0x4", "latest", [25, 75]]);
        assert.equal(history.baseFeePerGas.length, 5);
        assert.equal(history.gasUsedRatio.length, 4);
        assert.equal(history.reward.length, 4);
    });

    await check("transactions of type 0, 1 and 2", async () => {
        const to = carol.address;
        const gasPrice = parseUnits("30", "gwei");
        const accessList = [{ address: await token.getAddress(), storageKeys: [toBeHex(0, 32), toBeHex(2, 32)] }];
        for (const fields of [
            { type: 0, gasPrice },
            { type: 1, gasPrice, accessList },
            { type: 1, gasPrice, accessList: [] },
            { type: 2, maxFeePerGas: gasPrice, maxPriorityFeePerGas: 3n, accessList },
            { type: 2, maxFeePerGas: gasPrice, maxPriorityFeePerGas: 1n },
        ]) {
            const sent = await bob.sendTransaction({ to, value: 1n, data: "0x0102", ...fields });
            const receipt = await mined(sent);
            assert.equal(receipt.status, 1);
            assert.equal(receipt.type, fields.type);
            const words = (fields.accessList ?? []).reduce((n, a) => n + 2400 + 1900 * a.storageKeys.length, 0);
            assert.equal(receipt.gasUsed, BigInt(21000 + 2 * 16 + words));
            const seen = await provider.getTransaction(sent.hash);
            assert.equal(seen.type, fields.type);
            assert.equal(seen.from, bob.address);
            assert.equal(seen.chainId, 1337n);
            if (fields.type !== 0) {
                assert.deepEqual(plain(seen.accessList), plain(fields.accessList ?? []));
            }
            if (fields.type === 2) {
                const block = await receipt.getBlock();
                assert.equal(receipt.gasPrice, block.baseFeePerGas + fields.maxPriorityFeePerGas);
            } else {
                assert.equal(receipt.gasPrice, gasPrice);
            }
        }
    });

    await check("blocks, with and without their transactions", async () => {
        const head = await provider.getBlockNumber();
        const genesis = await provider.getBlock(0);
        assert.equal(genesis.transactions.length, 0);
        let parent = genesis;
        for (let n = 1; n <= head; n++) {
            const block = await provider.getBlock(n, true);
            assert.equal(block.parentHash, parent.hash);
            assert.ok(block.timestamp > parent.timestamp);
            assert.equal(block.transactions.length, 1);
            assert.equal(block.prefetchedTransactions[0].hash, block.transactions[0]);
            assert.equal(block.prefetchedTransactions[0].blockHash, block.hash);
            assert.equal((await provider.getBlock(block.hash)).number, n);
            parent = block;
        }
        assert.equal(await provider.getBlock(head + 1), null);
        assert.equal(await provider.getTransaction(id("nothing")), null);
        assert.equal(await provider.getTransactionReceipt(id("nothing")), null);
    });

    await check("a contract with logs of many shapes", async () => {
        const factory = new ContractFactory(beaconCode.abi, beaconCode.bytecode, bob);
        beacon = await factory.deploy();
        await mined(beacon.deploymentTransaction());
        const receipt = await mined(await beacon.blink(3n));
        assert.equal(receipt.logs.length, 6);
        assert.deepEqual(receipt.logs.map((l) => l.index), [0, 1, 2, 3, 4, 5]);
        assert.deepEqual(receipt.logs.map((l) => l.fragment.name).slice(0, 2), ["Flash", "Dark"]);
        assert.equal(receipt.logs[4].args.text, "on");
        const second = await beacon.queryFilter(beacon.filters.Flash(bob.address, 2n));
        assert.equal(second.length, 1);
        assert.equal(second[0].index, 4);
        assert.equal((await beacon.queryFilter(beacon.filters.Dark())).length, 3);
        assert.equal(await beacon.turns(), 3n);
    });

    await check("revert reasons, panics, custom errors", async () => {
        assert.equal(await beacon.shine(50n), 2n);
        await assert.rejects(beacon.shine(7n), (e) => e.reason === "seven is not allowed");
        await assert.rejects(beacon.shine(0n), (e) => e.revert.name === "Panic" && Number(e.revert.args[0]) === 18);
        await assert.rejects(beacon.shine(101n), (e) => e.revert.name === "TooBright" && e.revert.args[0] === 101n);
        await assert.rejects(provider.send("eth_call", [{ to: await beacon.getAddress(), data:
            beacon.interface.encodeFunctionData("shine", [7n]) }, "latest"]),
            (e) => e.info.error.code === 3 && e.info.error.message === "execution reverted: seven is not allowed");
    });

    await check("what a contract sees of its block", async () => {
        const seen = await beacon.context();
        const head = await provider.getBlock("latest");
        assert.equal(seen.number, BigInt(head.number));
        assert.equal(seen.chain, 1337n);
        assert.equal(seen.random, 1n);
    });

    await check("unlocked accounts through getSigner", async () => {
        const signer = await provider.getSigner(3);
        assert.equal(signer.address, account(3).address);
        const receipt = await mined(await signer.sendTransaction({ to: carol.address, value: 11n }));
        assert.equal(receipt.from, signer.address);
        const mine = token.connect(await provider.getSigner(0));
        await mined(await mine.transfer(carol.address, 2n));
        assert.equal(await token.balanceOf(carol), 62n);
        const tx = { from: bob.address, to: carol.address, value: "0x1" };
        const raw = await provider.send("eth_sendTransaction", [tx]);
        hashes.push(raw);
        assert.equal((await provider.getTransactionReceipt(raw)).status, 1);
        await assert.rejects(
            provider.send("eth_sendTransaction", [{ from: await token.getAddress(), to: carol.address }]),
            /unknown account/,
        );
    });

    await check("many requests at once go out as batches", async () => {
        const plainUser = new JsonRpcProvider(url);
        const asked = await Promise.all([
            ...Array.from({ length: 10 }, (_, i) => plainUser.getBalance(account(i).address)),
            ...Array.from({ length: 10 }, (_, i) => plainUser.getBlock(i)),
            plainUser.getBlockNumber(),
            token.connect(plainUser).totalSupply(),
        ]);
        assert.equal(asked[21], supply);
        assert.deepEqual(asked.slice(10, 20).map((b) => b.number), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        plainUser.destroy();
    });

    await check("a stream of transfers, ethers as it is configured by default", async () => {
        const plainUser = new JsonRpcProvider(url);
        const dave = new NonceManager(account(4).connect(plainUser));
        const had = await token.balanceOf(alice);
        await mined(await token.transfer(account(4).address, 20n));
        for (let i = 0; i < 20; i++) {
            const sent = await token.connect(dave).transfer(alice.address, 1n);
            assert.equal((await mined(sent)).status, 1);
        }
        assert.equal(await token.balanceOf(alice), had);
        plainUser.destroy();
    });

    await check("a gap in the nonces waits until it is filled", async () => {
        const erin = account(5).connect(provider);
        const base = { to: carol.address, value: 1n, gasLimit: 21000n };
        const late = await erin.sendTransaction({ ...base, nonce: 1 });
        hashes.push(late.hash);
        assert.equal(await provider.getTransactionReceipt(late.hash), null);
        assert.equal((await provider.getTransaction(late.hash)).blockNumber, null);
        assert.equal(await provider.getTransactionCount(erin, "pending"), 0);
        await mined(await erin.sendTransaction({ ...base, nonce: 0 }));
        assert.equal((await provider.getTransactionReceipt(late.hash)).status, 1);
        assert.equal(await provider.getTransactionCount(erin), 2);
    });

    await check("refused transactions and why", async () => {
        const frank = account(6).connect(provider);
        const base = { chainId: 1337, type: 2, nonce: 0, to: carol.address, value: 0n, gasLimit: 21000n,
                       maxFeePerGas: parseUnits("30", "gwei"), maxPriorityFeePerGas: 1n };
        const refused = async (fields, words) => {
            const raw = await frank.signTransaction({ ...base, ...fields });
            await assert.rejects(provider.send("eth_sendRawTransaction", [raw]), words);
        };
        await refused({ chainId: 1 }, /invalid sender/);
        await refused({ value: parseEther("10001") }, /insufficient funds for gas \* price \+ value/);
        await refused({ gasLimit: 20999n }, /intrinsic gas too low/);
        await refused({ gasLimit: 30000001n }, /exceeds block gas limit/);
        await refused({ type: 3, maxFeePerBlobGas: 1n, blobVersionedHashes: ["0x01" + "00".repeat(31)] },
                      /transaction type not supported/);
        await refused({ maxFeePerGas: 1n }, /max fee per gas less than block base fee/);
        const raw = await frank.signTransaction(base);
        await mined(await provider.broadcastTransaction(raw));
        await assert.rejects(provider.send("eth_sendRawTransaction", [raw]), /nonce too low/);
        await assert.rejects(provider.send("eth_sendRawTransaction", ["0x"]), /./);
        await assert.rejects(provider.send("eth_sendRawTransaction", [raw.slice(0, -2)]), /./);
        await assert.rejects(provider.send("eth_sendRawTransaction", ["0x05c0"]), /transaction type not supported/);
        /* ethers knows these by the words of the node. */
        await assert.rejects(frank.sendTransaction({ ...base }), (e) => isError(e, "NONCE_EXPIRED"));
        await assert.rejects(frank.sendTransaction({ to: carol.address, value: parseEther("20000"), gasLimit: 21000n }),
                             (e) => isError(e, "INSUFFICIENT_FUNDS"));
    });

    await check("state of old blocks: accounts, calls and code", async () => {
        const { blockNumber } = await token.deploymentTransaction().wait();
        assert.equal(await provider.getBalance(alice, 0), parseEther("10000"));
        assert.ok(await provider.getBalance(alice, 1) > await provider.getBalance(alice));
        assert.equal(await provider.getCode(token, blockNumber - 1), "0x");
        const then = { blockTag: blockNumber };
        assert.equal(await token.balanceOf(alice, then), await token.totalSupply(then));
    });

    await check("signatures of messages", async () => {
        assert.equal(verifyMessage("light", await alice.signMessage("light")), alice.address);
    });

    await check("note what has to survive", async () => {
        writeFileSync(file, JSON.stringify({
            token: await token.getAddress(),
            beacon: await beacon.getAddress(),
            hashes,
            seen: await snapshot(token, beacon, hashes),
        }));
    });
}

async function after() {
    const kept = JSON.parse(readFileSync(file, "utf8"));
    const [tokenAbi, beaconAbi] = [
        new Interface([
            "function balanceOf(address) view returns (uint256)",
            "function allowance(address,address) view returns (uint256)",
            "function totalSupply() view returns (uint256)",
            "function approve(address,uint256) returns (bool)",
            "function transfer(address,uint256) returns (bool)",
            "event Transfer(address indexed from, address indexed to, uint256 value)",
        ]),
        new Interface(["function turns() view returns (uint256)"]),
    ];
    const token = new Contract(kept.token, tokenAbi, alice);
    const beacon = new Contract(kept.beacon, beaconAbi, alice);

    const now = await snapshot(token, beacon, kept.hashes);
    for (const part of Object.keys(kept.seen)) {
        await check(`the same ${part} after kill -9 and restart`, async () => {
            assert.deepEqual(now[part], kept.seen[part]);
        });
    }

    await check("the chain goes on from there", async () => {
        const had = await token.balanceOf(carol);
        const receipt = await (await token.transfer(carol, 9n)).wait(1);
        assert.equal(receipt.blockNumber, kept.seen.head + 1);
        assert.equal((await receipt.getBlock()).parentHash, kept.seen.blocks.at(-1).hash);
        assert.equal(await token.balanceOf(carol), had + 9n);
        await (await token.approve(bob, MaxUint256)).wait(1);
        assert.equal(await token.allowance(alice, bob), MaxUint256);
        const logs = await token.queryFilter(token.filters.Transfer(null, carol.address), kept.seen.head + 1);
        assert.equal(logs.length, 1);
    });
}

await (phase === "before" ? before() : after());
provider.destroy();
process.exit(failed === 0 ? 0 : 1);
