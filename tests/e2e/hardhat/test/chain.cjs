const { expect } = require("chai");
const { ethers, network } = require("hardhat");
const { loadFixture, mine } = require("@nomicfoundation/hardhat-network-helpers");

async function lumen() {
    const [alice, bob, carol] = await ethers.getSigners();
    return { alice, bob, carol, lumen: await ethers.deployContract("Lumen", [1_000n]) };
}

const send = (method, ...params) => network.provider.send(method, params);

/* Waits until probe gives something true, and gives that. */
async function until(probe) {
    for (let i = 0; i < 1000; i++) {
        const got = await probe();
        if (got) return got;
        await new Promise((done) => setTimeout(done, 10));
    }
    throw new Error("waited in vain");
}

describe("The chain below a project", () => {
    it("is heard as it grows", async () => {
        const { alice, bob, lumen: c } = await loadFixture(lumen);
        const heard = { transfers: [], heads: [] };
        const onTransfer = (from, to, value) => heard.transfers.push([from, to, value]);
        const onBlock = (n) => heard.heads.push(n);
        await c.on("Transfer", onTransfer);
        await ethers.provider.on("block", onBlock);
        const first = (await (await c.transfer(bob, 1n)).wait()).blockNumber;
        await c.transfer(bob, 2n);
        await mine(3);
        await until(() => heard.transfers.length === 2 && heard.heads.at(-1) === first + 4);
        expect(heard.transfers).to.deep.equal([1n, 2n].map((n) => [alice.address, bob.address, n]));
        expect(heard.heads).to.deep.equal([...heard.heads.keys()].map((i) => heard.heads[0] + i));
        await c.off("Transfer", onTransfer);
        await ethers.provider.off("block", onBlock);
    });

    it("is filtered by address, topic and range", async () => {
        const { alice, bob, carol, lumen: c } = await loadFixture(lumen);
        const filter = await send("eth_newFilter", { address: c.target, topics: [ethers.id("Transfer(address,address,uint256)")] });
        for (const [to, much] of [[bob, 1n], [carol, 2n], [bob, 3n]]) {
            await c.transfer(to, much);
        }
        expect(await send("eth_getFilterChanges", filter)).to.have.lengthOf(3);
        expect(await send("eth_getFilterChanges", filter)).to.deep.equal([]);
        const toBob = await c.queryFilter(c.filters.Transfer(alice, bob), -2);
        expect(toBob.map((l) => l.args.value)).to.deep.equal([1n, 3n].slice(-toBob.length));
        expect(await c.queryFilter(c.filters.Transfer(null, [carol, bob]))).to.have.lengthOf(3);
        expect(await send("eth_uninstallFilter", filter)).to.equal(true);
    });

    it("proves its state, at any height", async () => {
        const { bob, lumen: c } = await loadFixture(lumen);
        await c.transfer(bob, 25n);
        const number = await ethers.provider.getBlockNumber();
        await mine(50);
        const { verifyMerkleProof } = await import("@ethereumjs/mpt");
        const verified = (root, key, nodes) =>
            verifyMerkleProof(ethers.getBytes(ethers.keccak256(key)), nodes.map((n) => ethers.getBytes(n)), {
                useKeyHashing: false,
                root: ethers.getBytes(root),
            });
        // OpenZeppelin keeps balances in slot 0.
        const slot = ethers.solidityPackedKeccak256(["uint256", "uint256"], [bob.address, 0n]);
        for (const [at, much] of [[number, 25n], ["latest", 25n], [number - 1, 0n]]) {
            const tag = typeof at === "number" ? ethers.toQuantity(at) : at;
            const { stateRoot } = await send("eth_getBlockByNumber", tag, false);
            const proof = await send("eth_getProof", c.target, [slot], tag);
            const account = ethers.decodeRlp(await verified(stateRoot, c.target, proof.accountProof));
            expect(account[2]).to.equal(proof.storageHash);
            expect(account[3]).to.equal(ethers.keccak256(await ethers.provider.getCode(c)));
            const value = await verified(proof.storageHash, slot, proof.storageProof[0].proof);
            expect(value === null ? 0n : BigInt(ethers.decodeRlp(value))).to.equal(much);
        }
    });

    it("is dumped and comes back whole", async () => {
        const { bob, lumen: c } = await loadFixture(lumen);
        const { hash, blockNumber } = await (await c.transfer(bob, 7n)).wait();
        const dump = await send("hardhat_dumpState");
        await send("hardhat_reset");
        expect(await ethers.provider.getCode(c)).to.equal("0x");
        expect(await send("hardhat_loadState", dump)).to.equal(true);
        expect(await ethers.provider.getBlockNumber()).to.equal(blockNumber);
        expect((await ethers.provider.getTransactionReceipt(hash)).logs).to.have.lengthOf(1);
        expect(await c.balanceOf(bob)).to.equal(7n);
        expect(await c.balanceOf(bob, { blockTag: blockNumber - 1 })).to.equal(0n);
        expect(await c.queryFilter("Transfer", 0)).to.have.lengthOf(2);
    });

    it("prints what contracts say", async () => {
        const speaker = await ethers.deployContract("Speaker");
        await speaker.speak();
    });
});
