// The requests that a browser's wallet sends over plain HTTP while it adds a network, shows it and pays.
//
//   node wallet.mjs URL
import assert from "node:assert/strict";
import { Wallet } from "ethers";
import { check, finish } from "./check.mjs";

const url = process.argv[2];
const origin = "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn";
const key = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const payer = new Wallet(key);
const payee = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
let id = 1;

const post = async (body) => {
    const headers = { "content-type": "application/json", accept: "application/json", origin };
    const r = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(r.status, 200);
    return r.json();
};

const ask = async (method, params = []) => {
    const { result, error } = await post({ id: id++, jsonrpc: "2.0", method, params });
    assert.equal(error, undefined, error?.message);
    return result;
};

await check("it asks which network this is", async () => {
    assert.equal(await ask("eth_chainId"), "0x539");
    assert.equal(await ask("net_version"), "1337");
    const head = await ask("eth_getBlockByNumber", ["latest", false]);
    assert.match(head.baseFeePerGas, /^0x[1-9a-f]/);
    assert.equal(await ask("eth_blockNumber"), head.number);
});

await check("it asks in batches", async () => {
    const calls = [
        ["eth_getBalance", [payer.address, "latest"]],
        ["eth_getTransactionCount", [payer.address, "pending"]],
        ["eth_getCode", [payee, "latest"]],
        ["eth_gasPrice", []],
    ];
    const batch = calls.map(([method, params], i) => ({ id: i, jsonrpc: "2.0", method, params }));
    const replies = await post(batch);
    assert.deepEqual(replies.map((r) => r.id), [0, 1, 2, 3]);
    assert.deepEqual(replies.slice(0, 3).map((r) => r.result), ["0x21e19e0c9bab2400000", "0x0", "0x"]);
});

await check("it suggests a fee and pays", async () => {
    const history = await ask("eth_feeHistory", ["0x5", "latest", [10, 20, 30]]);
    const baseFee = BigInt(history.baseFeePerGas.at(-1));
    const tip = BigInt(await ask("eth_maxPriorityFeePerGas"));
    const tx = { from: payer.address, to: payee, value: "0x1" };
    const gas = await ask("eth_estimateGas", [tx]);
    assert.equal(gas, "0x5208");
    const raw = await payer.signTransaction({
        chainId: 1337,
        type: 2,
        to: payee,
        value: 1n,
        nonce: Number(await ask("eth_getTransactionCount", [payer.address, "pending"])),
        gasLimit: gas,
        maxFeePerGas: baseFee * 2n + tip,
        maxPriorityFeePerGas: tip,
    });
    const hash = await ask("eth_sendRawTransaction", [raw]);
    assert.equal((await ask("eth_getTransactionReceipt", [hash])).status, "0x1");
    assert.equal((await ask("eth_getTransactionByHash", [hash])).to, payee);
});

await check("it reads a token's name where there is no contract", async () => {
    assert.equal(await ask("eth_call", [{ to: payee, data: "0x06fdde03" }, "latest"]), "0x");
    const { error } = await post({ id: 9, jsonrpc: "2.0", method: "wallet_noSuchThing", params: [] });
    assert.equal(error.code, -32601);
});

finish();
