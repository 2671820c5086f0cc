// A viem client as a user writes it, against a development network that was just started.
//
//   node viem.mjs URL
import assert from "node:assert/strict";
import { verifyMerkleProof } from "@ethereumjs/mpt";
import {
    BaseError,
    ContractFunctionRevertedError,
    createPublicClient,
    createTestClient,
    createWalletClient,
    defineChain,
    encodeFunctionData,
    fromRlp,
    hexToBytes,
    http,
    keccak256,
    pad,
    parseEther,
    parseGwei,
    publicActions,
    toHex,
    walletActions,
    zeroAddress,
} from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { check, contracts, finish, until } from "./check.mjs";

const url = process.argv[2];
const chain = defineChain({
    id: 1337,
    name: "Candela",
    nativeCurrency: { name: "Candela", symbol: "CD", decimals: 18 },
    rpcUrls: { default: { http: [url], webSocket: [url.replace("http", "ws")] } },
});
const phrase = "test test test test test test test test test test test junk";
const [alice, bob, carol] = [0, 1, 2].map((addressIndex) => mnemonicToAccount(phrase, { addressIndex }));
const { Token, Beacon } = contracts();

const common = { chain, pollingInterval: 20, cacheTime: 0 };
const reader = createPublicClient({ ...common, transport: http() });
const wallet = createWalletClient({ ...common, account: alice, transport: http() });
const unlocked = createWalletClient({ ...common, account: bob.address, transport: http() });
const mined = async (hash) => {
    const receipt = await reader.waitForTransactionReceipt({ hash });
    assert.equal(receipt.status, "success");
    return receipt;
};
let token;
let beacon;

await check("public client knows the chain", async () => {
    assert.equal(await reader.getChainId(), 1337);
    assert.equal(await reader.getBlockNumber(), 0n);
    assert.equal(await reader.getBalance({ address: alice.address }), parseEther("10000"));
    assert.equal((await reader.getBlock({ blockTag: "earliest" })).number, 0n);
    assert.ok((await reader.getGasPrice()) > 0n);
    const fees = await reader.estimateFeesPerGas();
    assert.ok(fees.maxFeePerGas >= fees.maxPriorityFeePerGas);
    assert.deepEqual(
        await unlocked.getAddresses().then((a) => a.slice(0, 3)),
        [alice, bob, carol].map((x) => x.address),
    );
});

await check("wallet client deploys with a key, and with an account of the node", async () => {
    const deploy = async (client, { abi, bytecode }, args = []) =>
        (await mined(await client.deployContract({ abi, bytecode, args }))).contractAddress;
    token = { abi: Token.abi, address: await deploy(wallet, Token, [1_000_000n]) };
    beacon = { abi: Beacon.abi, address: await deploy(unlocked, Beacon) };
    assert.ok((await reader.getCode(token)).length > 1000);
    assert.equal(await reader.readContract({ ...token, functionName: "totalSupply" }), 1_000_000n);
});

await check("a contract is simulated, written to and read", async () => {
    const { request, result } = await reader.simulateContract({
        ...token,
        functionName: "transfer",
        args: [bob.address, 10n],
        account: alice,
    });
    assert.equal(result, true);
    const receipt = await mined(await wallet.writeContract(request));
    assert.equal(await reader.readContract({ ...token, functionName: "balanceOf", args: [bob.address] }), 10n);
    const [event] = await reader.getContractEvents({ ...token, eventName: "Transfer", fromBlock: receipt.blockNumber });
    assert.deepEqual(event.args, { from: alice.address, to: bob.address, value: 10n });
    const tx = await reader.getTransaction({ hash: receipt.transactionHash });
    assert.equal(tx.type, "eip1559");
    assert.equal(await reader.getTransactionConfirmations({ transactionReceipt: receipt }), 1n);
    const block = await reader.getBlock({ blockHash: receipt.blockHash, includeTransactions: true });
    assert.equal(block.transactions[0].hash, tx.hash);
});

await check("failures are told by name", async () => {
    const why = async (much) => {
        try {
            await reader.readContract({ ...beacon, functionName: "shine", args: [much] });
        } catch (e) {
            assert.ok(e instanceof BaseError);
            return e.walk((x) => x instanceof ContractFunctionRevertedError);
        }
        throw new Error("it did not fail");
    };
    assert.equal((await why(7n)).reason, "seven is not allowed");
    const { data } = await why(101n);
    assert.deepEqual([data.errorName, ...data.args], ["TooBright", 101n, 100n]);
    assert.match((await why(0n)).reason, /Division or modulo by zero/);
    await assert.rejects(
        wallet.sendTransaction({ to: bob.address, value: parseEther("1000000"), gas: 21000n }),
        (e) => e.walk((x) => x.name === "InsufficientFundsError") !== null,
    );
    await assert.rejects(
        wallet.sendTransaction({ to: bob.address, nonce: 0 }),
        (e) => e.walk((x) => x.name === "NonceTooLowError") !== null,
    );
});

await check("many reads go in one batch, and in one call", async () => {
    const batching = createPublicClient({ ...common, transport: http(url, { batch: true }) });
    const people = [alice, bob, carol].map((x) => x.address);
    const read = { ...token, functionName: "balanceOf" };
    const batch = await Promise.all(people.map((p) => batching.readContract({ ...read, args: [p] })));
    const calls = await reader.multicall({ contracts: people.map((p) => ({ ...read, args: [p] })), deployless: true });
    assert.deepEqual(calls.map((c) => c.result), batch);
    assert.deepEqual(batch, [999_990n, 10n, 0n]);
});

await check("calls run on a changed state", async () => {
    const { data } = await reader.call({
        to: carol.address,
        data: encodeFunctionData({ abi: Beacon.abi, functionName: "turns" }),
        stateOverride: [
            {
                address: carol.address,
                code: await reader.getCode(beacon),
                stateDiff: [{ slot: pad("0x00"), value: pad("0x2a") }],
            },
        ],
    });
    assert.equal(BigInt(data), 42n);
    const gas = await reader.estimateContractGas({ ...beacon, functionName: "blink", args: [3n], account: alice });
    assert.ok(gas > 40_000n);
    const { accessList } = await reader.createAccessList({
        to: token.address,
        data: encodeFunctionData({ abi: Token.abi, functionName: "transfer", args: [bob.address, 1n] }),
        account: alice.address,
    });
    assert.equal(accessList[0].storageKeys.length, 2);
});

await check("blocks and calls are simulated", async () => {
    const nobody = "0xc000000000000000000000000000000000000000";
    const blockNumber = await reader.getBlockNumber();
    const blocks = await reader.simulateBlocks({
        blocks: [
            {
                stateOverrides: [{ address: nobody, balance: parseEther("10") }],
                calls: [{ account: nobody, to: carol.address, value: parseEther("2") }],
            },
            {
                calls: [
                    { account: alice, to: token.address, abi: token.abi, functionName: "transfer", args: [nobody, 5n] },
                    { to: token.address, abi: token.abi, functionName: "balanceOf", args: [nobody] },
                    { account: nobody, to: token.address, abi: token.abi, functionName: "transfer", args: [bob.address, 6n] },
                ],
            },
        ],
        traceTransfers: true,
    });
    assert.deepEqual(blocks.map((b) => b.number - blockNumber), [1n, 2n]);
    assert.equal(blocks[1].parentHash, blocks[0].hash);
    assert.notEqual(blocks[1].stateRoot, blocks[0].stateRoot);
    assert.equal(blocks[0].calls[0].status, "success");
    assert.equal(BigInt(blocks[0].calls[0].logs[0].data), parseEther("2"));
    assert.equal(blocks[1].calls[1].result, 5n);
    assert.equal(blocks[1].calls[2].status, "failure");
    assert.ok(blocks[1].calls[2].error instanceof BaseError);

    const { assetChanges, results, block } = await reader.simulateCalls({
        account: alice.address,
        calls: [
            { to: token.address, abi: token.abi, functionName: "transfer", args: [carol.address, 7n] },
            { to: bob.address, value: parseEther("1") },
        ],
        traceAssetChanges: true,
    });
    assert.deepEqual(results.map((r) => r.status), ["success", "success"]);
    assert.ok(block.number > blockNumber);
    assert.equal(assetChanges[0].value.diff, -parseEther("1"));
    assert.equal(assetChanges[1].value.diff, -7n);
    assert.equal(assetChanges[1].token.address, token.address.toLowerCase());
    assert.equal(await reader.getBlockNumber(), blockNumber);
});

await check("transactions of every type are taken", async () => {
    const to = carol.address;
    const gasPrice = await reader.getGasPrice();
    for (const [type, more] of [
        ["legacy", { gasPrice }],
        ["eip2930", { gasPrice, accessList: [{ address: token.address, storageKeys: [pad("0x00")] }] }],
        ["eip1559", { maxFeePerGas: parseGwei("20"), maxPriorityFeePerGas: parseGwei("1") }],
    ]) {
        const { transactionHash } = await mined(await wallet.sendTransaction({ to, value: 1n, type, ...more }));
        assert.equal((await reader.getTransaction({ hash: transactionHash })).type, type);
    }
    const request = await wallet.prepareTransactionRequest({ to, value: 1n });
    await mined(await wallet.sendRawTransaction({ serializedTransaction: await wallet.signTransaction(request) }));
    const { baseFeePerGas, reward } = await reader.getFeeHistory({ blockCount: 4, rewardPercentiles: [10, 90] });
    assert.deepEqual([baseFeePerGas.length, reward.length, reward[0].length], [5, 4, 2]);
});

await check("the node's signatures are those of the key", async () => {
    const message = "light";
    assert.equal(await unlocked.signMessage({ message }), await bob.signMessage({ message }));
    const typed = {
        domain: { name: "Lamp", version: "1", chainId: 1337, verifyingContract: token.address },
        types: { Order: [{ name: "much", type: "uint256" }, { name: "tags", type: "string[]" }] },
        primaryType: "Order",
        message: { much: 5n, tags: ["a", "b"] },
    };
    const signature = await unlocked.signTypedData(typed);
    assert.equal(signature, await bob.signTypedData(typed));
    assert.ok(await reader.verifyTypedData({ ...typed, address: bob.address, signature }));
    const signed = await bob.signMessage({ message });
    assert.ok(await reader.verifyMessage({ address: bob.address, message, signature: signed }));
});

await check("proofs lead to the block's state root", async () => {
    const { address } = token;
    const number = await reader.getBlockNumber();
    const slot = pad("0x02"); // the total supply
    for (const blockNumber of [number, number - 1n]) {
        const root = (await reader.getBlock({ blockNumber })).stateRoot;
        const proof = await reader.getProof({ address, storageKeys: [slot], blockNumber });
        const verified = (rootHash, key, nodes) =>
            verifyMerkleProof(hexToBytes(keccak256(key)), nodes.map(hexToBytes), {
                useKeyHashing: false,
                root: hexToBytes(rootHash),
            });
        const account = await verified(root, address, proof.accountProof);
        const [nonce, , storageRoot, codeHash] = fromRlp(toHex(account), "hex");
        const code = await reader.getCode(token);
        assert.deepEqual([BigInt(nonce), storageRoot, codeHash], [1n, proof.storageHash, keccak256(code)]);
        const value = await verified(storageRoot, slot, proof.storageProof[0].proof);
        assert.equal(BigInt(fromRlp(toHex(value), "hex")), 1_000_000n);
        const nobody = await reader.getProof({ address: pad("0x99", { size: 20 }), storageKeys: [], blockNumber });
        assert.equal(await verified(root, nobody.address, nobody.accountProof), null);
    }
    assert.equal(await reader.getStorageAt({ address, slot }), pad(toHex(1_000_000n)));
});

await check("traces show the calls of a transaction", async () => {
    const { transactionHash } = await mined(
        await wallet.writeContract({ ...beacon, functionName: "blink", args: [2n] }),
    );
    const frame = await reader.request({
        method: "debug_traceTransaction",
        params: [transactionHash, { tracer: "callTracer", tracerConfig: { withLog: true } }],
    });
    assert.deepEqual([frame.type, frame.to, frame.logs.length], ["CALL", beacon.address.toLowerCase(), 4]);
    const { pre, post } = await reader.request({
        method: "debug_traceTransaction",
        params: [transactionHash, { tracer: "prestateTracer", tracerConfig: { diffMode: true } }],
    });
    assert.equal(pre[beacon.address.toLowerCase()].storage, undefined);
    assert.deepEqual(post[beacon.address.toLowerCase()].storage, { [pad("0x00")]: pad("0x02") });
});

for (const mode of ["anvil", "hardhat"]) {
    const dev = createTestClient({ ...common, account: alice, mode, transport: http() })
        .extend(publicActions)
        .extend(walletActions);

    await check(`test client (${mode}) sets accounts`, async () => {
        const address = pad("0xbeef", { size: 20 });
        await dev.setBalance({ address, value: 77n });
        assert.equal(await dev.getBalance({ address }), 77n);
        await dev.setCode({ address, bytecode: await dev.getCode(beacon) });
        await dev.setStorageAt({ address, index: 0, value: pad("0x05") });
        assert.equal(await dev.readContract({ ...beacon, address, functionName: "turns" }), 5n);
        const nonce = (await dev.getTransactionCount({ address: carol.address })) + 5;
        await dev.setNonce({ address: carol.address, nonce });
        assert.equal(await dev.getTransactionCount({ address: carol.address }), nonce);
    });

    await check(`test client (${mode}) goes back to a snapshot`, async () => {
        const id = await dev.snapshot();
        const [before, height] = [await dev.getBalance(bob), await dev.getBlockNumber()];
        await mined(await dev.sendTransaction({ to: bob.address, value: 1n }));
        assert.equal(await dev.getBalance(bob), before + 1n);
        await dev.revert({ id });
        assert.deepEqual([await dev.getBalance(bob), await dev.getBlockNumber()], [before, height]);
    });

    await check(`test client (${mode}) mines and travels in time`, async () => {
        const from = await dev.getBlock();
        await dev.mine({ blocks: 1000, interval: 12 });
        const to = await dev.getBlock();
        assert.equal(to.number - from.number, 1000n);
        assert.ok(to.timestamp - from.timestamp >= 999n * 12n);
        await dev.increaseTime({ seconds: 3600 });
        await dev.mine({ blocks: 1 });
        assert.ok((await dev.getBlock()).timestamp >= to.timestamp + 3600n - 1000n * 12n);
        const timestamp = (await dev.getBlock()).timestamp + 5000n;
        await dev.setNextBlockTimestamp({ timestamp });
        await dev.mine({ blocks: 1 });
        assert.equal((await dev.getBlock()).timestamp, timestamp);
        const unit = mode === "hardhat" ? 1000n : 1n; // viem asks Hardhat for thousandths, which it does not have
        await dev.setBlockTimestampInterval({ interval: 5 });
        await dev.mine({ blocks: 1 });
        assert.equal((await dev.getBlock()).timestamp, timestamp + 5n * unit);
        await dev.removeBlockTimestampInterval();
    });

    await check(`test client (${mode}) rules over the next block`, async () => {
        await dev.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("3") });
        await dev.setCoinbase({ address: carol.address });
        await dev.setBlockGasLimit({ gasLimit: 20_000_000n });
        await dev.mine({ blocks: 1 });
        const { baseFeePerGas, miner, gasLimit } = await dev.getBlock();
        assert.deepEqual([baseFeePerGas, miner, gasLimit], [parseGwei("3"), carol.address.toLowerCase(), 20_000_000n]);
        await assert.rejects(dev.setMinGasPrice({ gasPrice: 1n }));
    });

    await check(`test client (${mode}) holds transactions back`, async () => {
        await dev.setAutomine(false);
        try {
            const [a, b] = [
                await dev.sendTransaction({ to: bob.address, value: 1n }),
                await unlocked.sendTransaction({ to: alice.address, value: 1n }),
            ];
            assert.deepEqual(await dev.getTxpoolStatus(), { pending: 2, queued: 0 });
            assert.ok(Object.keys((await dev.getTxpoolContent()).pending).length === 2);
            await dev.inspectTxpool();
            await dev.dropTransaction({ hash: b });
            await dev.mine({ blocks: 1 });
            await mined(a);
            await assert.rejects(dev.getTransaction({ hash: b }), /could not be found/);
        } finally {
            await dev.setAutomine(true);
        }
        if (mode === "anvil") {
            assert.equal(await dev.getAutomine(), true);
        }
    });

    await check(`test client (${mode}) acts for any address`, async () => {
        const address = pad("0xfaced", { size: 20 });
        await dev.setBalance({ address, value: parseEther("1") });
        await dev.impersonateAccount({ address });
        const { from } = await mined(await dev.sendTransaction({ account: address, to: zeroAddress, value: 1n }));
        assert.equal(from, address);
        await dev.stopImpersonatingAccount({ address });
        await assert.rejects(dev.sendTransaction({ account: address, to: zeroAddress, value: 1n }));
        const hash = await dev.sendUnsignedTransaction({ from: address, to: zeroAddress, value: 1n, gas: 21000n });
        await mined(hash);
    });

    await check(`test client (${mode}) makes blocks by the clock`, async () => {
        const height = await dev.getBlockNumber();
        await dev.setIntervalMining({ interval: 1 });
        try {
            await until(async () => (await dev.getBlockNumber()) > height, "a block");
        } finally {
            await dev.setIntervalMining({ interval: 0 });
        }
    });
}

await check("test client (ganache) finds the names it uses", async () => {
    const dev = createTestClient({ ...common, mode: "ganache", transport: http() }).extend(publicActions);
    const address = pad("0xfade", { size: 20 });
    await dev.setBalance({ address, value: 3n });
    assert.equal(await dev.getBalance({ address }), 3n);
    await dev.setCode({ address, bytecode: "0x5f" });
    assert.equal(await dev.getCode({ address }), "0x5f");
    const height = await dev.getBlockNumber();
    await dev.mine({ blocks: 2 });
    assert.equal(await dev.getBlockNumber(), height + 2n);
    await dev.setAutomine(false);
    const hash = await unlocked.sendTransaction({ to: bob.address, value: 1n });
    await assert.rejects(reader.getTransactionReceipt({ hash }), /could not be found/);
    await dev.setAutomine(true);
    await dev.mine({ blocks: 1 });
    assert.equal((await reader.getTransactionReceipt({ hash })).status, "success");
    const anvil = createTestClient({ ...common, mode: "anvil", transport: http() });
    await assert.rejects(anvil.setRpcUrl("http://127.0.0.1:1"), /forking is not supported/);
});

await check("a transaction is replaced by one that pays more", async () => {
    const dev = createTestClient({ ...common, mode: "anvil", transport: http() });
    const send = (value, fee) => wallet.sendTransaction({ ...tx, value, maxFeePerGas: fee, maxPriorityFeePerGas: fee });
    const tx = await wallet.prepareTransactionRequest({ to: bob.address });
    await dev.setAutomine(false);
    try {
        const hash = await send(0n, parseGwei("10"));
        await assert.rejects(send(1n, parseGwei("10") + 1n), /underpriced/);
        const other = await send(1n, parseGwei("11"));
        await dev.mine({ blocks: 1 });
        await mined(other);
        await assert.rejects(reader.getTransaction({ hash }), /could not be found/);
    } finally {
        await dev.setAutomine(true);
    }
});

await check("a state dumped is loaded again", async () => {
    const dev = createTestClient({ ...common, mode: "anvil", transport: http() }).extend(publicActions);
    const state = await dev.dumpState();
    await dev.setBalance({ address: carol.address, value: 1n });
    await dev.loadState({ state });
    assert.ok((await dev.getBalance(carol)) > 1n);
    await dev.setLoggingEnabled(true);
    await dev.reset();
    assert.equal(await dev.getBlockNumber(), 0n);
});

finish();
