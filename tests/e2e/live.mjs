// Clients that listen: filters over HTTP, subscriptions over WebSocket, in ethers, viem and web3.js.
//
//   node live.mjs URL
import assert from "node:assert/strict";
import { Contract, ContractFactory, JsonRpcProvider, WebSocketProvider } from "ethers";
import { createPublicClient, defineChain, http, webSocket } from "viem";
import { Web3 } from "web3";
import { check, contracts, finish, until } from "./check.mjs";

const url = process.argv[2];
const wsUrl = url.replace("http", "ws");
const { Beacon } = contracts();
const sender = await new JsonRpcProvider(url, undefined, { cacheTimeout: -1 }).getSigner();
const beacon = await new ContractFactory(Beacon.abi, Beacon.bytecode, sender).deploy();
const address = await beacon.getAddress();
const blink = async (times) => (await beacon.blink(times)).wait();

await check("ethers hears blocks and events by polling", async () => {
    const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, polling: false, pollingInterval: 20 });
    const seen = { heads: [], flashes: [] };
    const listener = new Contract(address, Beacon.abi, provider);
    await provider.on("block", (n) => seen.heads.push(n));
    await listener.on("Flash", (by, turn) => seen.flashes.push(turn));
    await until(async () => {
        await blink(2);
        return seen.heads.length > 1 && seen.flashes.length > 3;
    }, "an event");
    assert.ok(seen.flashes.every((turn, i) => turn === seen.flashes[0] + BigInt(i)));
    provider.destroy();
});

await check("ethers hears blocks, transactions and events over WebSocket", async () => {
    const provider = new WebSocketProvider(wsUrl);
    const seen = { heads: [], txs: [], flashes: [] };
    await provider.on("block", (n) => seen.heads.push(n));
    await provider.on("pending", (hash) => seen.txs.push(hash));
    const listener = new Contract(address, Beacon.abi, provider);
    await listener.on("Flash", (by, turn, tag, text) => seen.flashes.push(text));
    await provider.getBlockNumber(); // the subscriptions went ahead of it
    const { blockNumber, hash } = await blink(3);
    await until(() => seen.heads.length > 0 && seen.txs.length > 0 && seen.flashes.length > 2, "an event");
    assert.deepEqual([seen.heads, seen.txs, seen.flashes], [[blockNumber], [hash], ["on", "on", "on"]]);
    await provider.destroy();
});

const chain = defineChain({
    id: 1337,
    name: "Candela",
    nativeCurrency: { name: "Candela", symbol: "CD", decimals: 18 },
    rpcUrls: { default: { http: [url], webSocket: [wsUrl] } },
});
const common = { chain, pollingInterval: 20, cacheTime: 0 };
const flash = { address, abi: Beacon.abi, eventName: "Flash" };

await check("viem's filters give what is new", async () => {
    const reader = createPublicClient({ ...common, transport: http() });
    const [events, blocks] = [await reader.createContractEventFilter(flash), await reader.createBlockFilter()];
    const { blockHash } = await blink(3);
    assert.equal((await reader.getFilterChanges({ filter: events })).length, 3);
    assert.deepEqual(await reader.getFilterChanges({ filter: events }), []);
    assert.equal((await reader.getFilterLogs({ filter: events })).length, 3);
    assert.deepEqual(await reader.getFilterChanges({ filter: blocks }), [blockHash]);
    assert.equal(await reader.uninstallFilter({ filter: events }), true);
});

for (const [name, transport] of [["polling", http()], ["WebSocket", webSocket()]]) {
    await check(`viem watches blocks, transactions and events by ${name}`, async () => {
        const live = createPublicClient({ ...common, transport });
        const seen = { blocks: [], txs: [], events: [] };
        const stop = [
            live.watchBlocks({ onBlock: (b) => seen.blocks.push(b) }),
            live.watchPendingTransactions({ onTransactions: (hashes) => seen.txs.push(...hashes) }),
            live.watchContractEvent({ ...flash, onLogs: (logs) => seen.events.push(...logs) }),
        ];
        await until(async () => {
            await blink(2);
            return seen.blocks.length > 1 && seen.txs.length > 1 && seen.events.length > 3;
        }, "a notification");
        assert.equal(seen.events[1].args.turn, seen.events[0].args.turn + 1n);
        stop.forEach((f) => f());
    });
}

await check("web3.js subscribes to blocks, transactions and logs", async () => {
    const live = new Web3(wsUrl);
    try {
        const seen = { heads: [], logs: [], hashes: [] };
        const listen = async (name, to, args) =>
            (await live.eth.subscribe(name, args)).on("data", (x) => seen[to].push(x));
        await listen("newBlockHeaders", "heads");
        await listen("newPendingTransactions", "hashes");
        await listen("logs", "logs", { address });
        const { blockNumber, hash } = await blink(2);
        await until(() => seen.heads.length > 0 && seen.logs.length > 3 && seen.hashes.length > 0, "a notification");
        assert.equal(seen.heads[0].number, BigInt(blockNumber));
        assert.deepEqual([seen.logs.length, seen.hashes], [4, [hash]]);
    } finally {
        live.currentProvider.disconnect();
    }
});

finish();
