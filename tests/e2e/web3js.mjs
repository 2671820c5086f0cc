// A web3.js 4 client as a user writes it, against a development network that was just started.
//
//   node web3js.mjs URL
import assert from "node:assert/strict";
import { verifyMerkleProof } from "@ethereumjs/mpt";
import { fromRlp, toHex } from "viem";
import { Web3 } from "web3";
import { check, contracts, finish } from "./check.mjs";

const url = process.argv[2];
const key = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const web3 = new Web3(url);
web3.eth.transactionPollingInterval = 20;
const { Token, Beacon } = contracts();
const [alice, bob, carol] = await web3.eth.getAccounts();
let token;
let beacon;

await check("the chain answers", async () => {
    assert.equal(await web3.eth.getChainId(), 1337n);
    assert.equal(await web3.eth.net.getId(), 1337n);
    assert.equal(await web3.eth.net.isListening(), true);
    assert.match(await web3.eth.getNodeInfo(), /candela/);
    assert.equal(await web3.eth.getBlockNumber(), 0n);
    assert.equal(web3.utils.fromWei(await web3.eth.getBalance(alice), "ether"), "10000");
    assert.equal(await web3.eth.isSyncing(), false);
    assert.equal((await web3.eth.getBlock("latest", true)).number, 0n);
});

await check("contracts are deployed and used", async () => {
    token = await new web3.eth.Contract(Token.abi)
        .deploy({ data: Token.bytecode, arguments: [1_000_000n] })
        .send({ from: alice });
    beacon = await new web3.eth.Contract(Beacon.abi).deploy({ data: Beacon.bytecode }).send({ from: bob });
    const receipt = await token.methods.transfer(bob, 25n).send({ from: alice });
    assert.equal(receipt.status, 1n);
    assert.equal(receipt.events.Transfer.returnValues.value, 25n);
    assert.equal(await token.methods.balanceOf(bob).call(), 25n);
    await beacon.methods.blink(3).send({ from: carol });
    const flashes = await beacon.getPastEvents("Flash", { fromBlock: 0, filter: { by: carol } });
    assert.deepEqual(flashes.map((f) => f.returnValues.turn), [0n, 1n, 2n]);
    assert.ok((await web3.eth.getPastLogs({ address: beacon.options.address, fromBlock: 0 })).length === 6);
});

await check("failures are told by name", async () => {
    const failure = async (much) => beacon.methods.shine(much).call().then(assert.fail, (e) => e);
    assert.match((await failure(7)).cause.message, /seven is not allowed/);
    const { cause } = await failure(101);
    assert.deepEqual([cause.errorName, cause.errorArgs.asked, cause.errorArgs.most], ["TooBright", 101n, 100n]);
});

await check("a wallet signs what it sends", async () => {
    const account = web3.eth.accounts.privateKeyToAccount(key);
    assert.equal(account.address, alice);
    web3.eth.accounts.wallet.add(account);
    const sent = await web3.eth.sendTransaction({ from: alice, to: carol, value: 5n });
    assert.equal((await web3.eth.getTransaction(sent.transactionHash)).value, 5n);
    const signed = await account.signTransaction({
        to: carol,
        value: 1n,
        gas: 21000n,
        gasPrice: await web3.eth.getGasPrice(),
        nonce: await web3.eth.getTransactionCount(alice),
        chainId: 1337n,
    });
    const receipt = await web3.eth.sendSignedTransaction(signed.rawTransaction);
    assert.equal(receipt.transactionHash, signed.transactionHash);
    web3.eth.accounts.wallet.clear();
});

await check("the node signs", async () => {
    const message = "light";
    const signature = await web3.eth.sign(web3.utils.utf8ToHex(message), alice);
    assert.equal(signature, web3.eth.accounts.sign(message, key).signature);
    assert.equal(await web3.eth.personal.sign(web3.utils.utf8ToHex(message), alice, ""), signature);
    const block = await web3.eth.getBlock();
    const receipts = await Promise.all(block.transactions.map((h) => web3.eth.getTransactionReceipt(h)));
    assert.equal(receipts[0].blockHash, block.hash);
});

await check("calls go in a batch", async () => {
    const batch = new web3.BatchRequest();
    const answers = ["eth_blockNumber", "eth_gasPrice", "eth_chainId"].map((method, id) =>
        batch.add({ jsonrpc: "2.0", id: id + 1, method, params: [] }),
    );
    await batch.execute();
    const [number, price, id] = await Promise.all(answers);
    assert.deepEqual([BigInt(number), BigInt(id)], [await web3.eth.getBlockNumber(), 1337n]);
    assert.ok(BigInt(price) > 0n);
});

await check("proofs, fees, storage and access lists", async () => {
    const address = token.options.address;
    const proof = await web3.eth.getProof(address, [`0x${"2".padStart(64, "0")}`], "latest");
    assert.equal(BigInt(proof.storageProof[0].value), 1_000_000n);
    assert.equal(BigInt(await web3.eth.getStorageAt(address, 2)), 1_000_000n);
    const fees = await web3.eth.getFeeHistory(3, "latest", [50]);
    assert.equal(fees.baseFeePerGas.length, 4);
    const data = token.methods.transfer(bob, 1n).encodeABI();
    const { accessList } = await web3.eth.createAccessList({ from: alice, to: address, data });
    assert.equal(accessList[0].storageKeys.length, 2);
    assert.ok((await web3.eth.estimateGas({ from: alice, to: address, data })) > 21000n);
    assert.ok((await web3.eth.calculateFeeData()).maxFeePerGas > 0n);
});

/* Calls that web3.js has no names for. */
const ask = (method, ...params) => web3.requestManager.send({ method, params });

await check("proofs lead to the block's state root", async () => {
    const { hexToBytes, keccak256 } = web3.utils;
    const slot = `0x${"2".padStart(64, "0")}`; // the total supply
    const { stateRoot, number } = await web3.eth.getBlock("latest");
    const proof = await web3.eth.getProof(token.options.address, [slot], number);
    const verified = (root, key, nodes) =>
        verifyMerkleProof(hexToBytes(keccak256(key)), nodes.map(hexToBytes), {
            useKeyHashing: false,
            root: hexToBytes(root),
        });
    const account = fromRlp(toHex(await verified(stateRoot, token.options.address, proof.accountProof)), "hex");
    assert.equal(account[2], proof.storageHash);
    assert.equal(account[3], keccak256(await web3.eth.getCode(token.options.address)));
    const value = await verified(proof.storageHash, slot, proof.storageProof[0].proof);
    assert.equal(BigInt(fromRlp(toHex(value), "hex")), 1_000_000n);
});

await check("traces show the calls of a transaction", async () => {
    const { transactionHash } = await beacon.methods.blink(2).send({ from: carol });
    const frame = await ask("debug_traceTransaction", transactionHash, {
        tracer: "callTracer",
        tracerConfig: { withLog: true },
    });
    assert.deepEqual([frame.type, frame.from, frame.logs.length], ["CALL", carol.toLowerCase(), 4]);
    const steps = await ask("debug_traceTransaction", transactionHash);
    assert.deepEqual([steps.failed, steps.structLogs.filter((l) => l.op.startsWith("LOG")).length], [false, 4]);
});

await check("time travels and snapshots return", async () => {
    const before = await web3.eth.getBlock("latest");
    const snapshot = await ask("evm_snapshot");
    await ask("evm_increaseTime", 86400);
    await token.methods.transfer(carol, 1n).send({ from: alice });
    const later = await web3.eth.getBlock("latest");
    assert.ok(later.timestamp >= before.timestamp + 86000n); // many blocks a second run ahead of the clock
    assert.equal(await token.methods.balanceOf(carol).call(), 1n);
    assert.equal(await ask("evm_revert", snapshot), true);
    assert.equal((await web3.eth.getBlock("latest")).hash, before.hash);
    assert.equal(await token.methods.balanceOf(carol).call(), 0n);
    await ask("evm_setNextBlockTimestamp", Number(before.timestamp) + 1000);
    await ask("hardhat_mine", "0x3", "0x3c");
    assert.equal((await web3.eth.getBlock("latest")).timestamp, before.timestamp + 1120n);
});

finish();
