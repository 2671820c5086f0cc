const { expect } = require("chai");
const { ethers, network } = require("hardhat");
const helpers = require("@nomicfoundation/hardhat-network-helpers");
const { loadFixture, mine, time } = helpers;

async function lamp() {
    const [alice, bob, carol] = await ethers.getSigners();
    return { alice, bob, carol, lamp: await ethers.deployContract("Lamp") };
}

const send = (method, ...params) => network.provider.send(method, params);

describe("Matchers", () => {
    it("tell every kind of failure apart", async () => {
        const { lamp: c } = await loadFixture(lamp);
        await expect(c.light(7)).to.be.revertedWith("seven is not allowed");
        await expect(c.light(101)).to.be.revertedWithCustomError(c, "TooBright").withArgs(101n, 100n);
        await expect(c.dim(1)).to.be.revertedWithPanic(0x11);
        await expect(c.smash()).to.be.revertedWithoutReason(ethers);
        await expect(c.smash.staticCall()).to.be.revertedWithoutReason(ethers);
        await expect(c.light(5)).not.to.be.reverted;
    });

    it("see them in transactions that were mined, too", async () => {
        const { lamp: c } = await loadFixture(lamp);
        await expect(c.light(101, { gasLimit: 100_000n })).to.be.reverted;
        const tx = await c.light(7, { gasLimit: 100_000n });
        await expect(tx.wait()).to.be.rejectedWith("reverted");
        expect((await ethers.provider.getTransactionReceipt(tx.hash)).status).to.equal(0);
    });

    it("see events, ether and addresses", async () => {
        const { alice, bob, lamp: c } = await loadFixture(lamp);
        await expect(c.light(42)).to.emit(c, "Lit").withArgs(alice, 42n, (t) => t > 0n);
        await expect(bob.sendTransaction({ to: c, value: 5n })).to.changeEtherBalances([bob, c], [-5n, 5n]);
        expect(c.target).to.be.properAddress;
    });
});

describe("Network helpers", () => {
    it("load a fixture again and again at the same block", async () => {
        const first = await loadFixture(lamp);
        const height = await ethers.provider.getBlockNumber();
        for (let i = 10; i < 30; i++) {
            const { lamp: c } = await loadFixture(lamp);
            expect(c.target).to.equal(first.lamp.target);
            expect(await ethers.provider.getBlockNumber()).to.equal(height);
            expect(await c.much()).to.equal(0n);
            await c.light(i);
            await c.light(i + 1);
        }
    });

    it("take and restore snapshots, once each", async () => {
        const { lamp: c } = await loadFixture(lamp);
        await c.light(3);
        const snapshot = await helpers.takeSnapshot();
        await c.light(4);
        await snapshot.restore();
        expect(await c.much()).to.equal(3n);
        await c.light(5);
        await snapshot.restore();
        expect(await c.much()).to.equal(3n);
        expect(await send("evm_revert", "0xffff")).to.equal(false);
    });

    it("mine any number of blocks", async () => {
        await loadFixture(lamp);
        const from = await ethers.provider.getBlockNumber();
        await mine(100_000);
        expect(await ethers.provider.getBlockNumber()).to.equal(from + 100_000);
        await mine(10, { interval: 60 });
        const [a, b] = await Promise.all([1, 10].map((n) => ethers.provider.getBlock(from + 100_000 + n)));
        expect(b.timestamp - a.timestamp).to.equal(540);
        expect((await ethers.provider.getBlock(from + 50_000)).transactions).to.deep.equal([]);
    });

    it("travel in time", async () => {
        const { lamp: c } = await loadFixture(lamp);
        const start = await time.latest();
        await time.increase(3600);
        expect(await time.latest()).to.equal(start + 3600);
        await time.increase(0);
        await time.increaseTo(start + 10_000);
        expect((await c.context()).time).to.equal(BigInt(start) + 10_000n);
        await time.setNextBlockTimestamp(start + 20_000);
        await expect(c.light(1)).to.emit(c, "Lit").withArgs((a) => a !== undefined, 1n, start + 20_000);
        await expect(time.setNextBlockTimestamp(start)).to.be.rejected;
    });

    it("set accounts and the next block", async () => {
        const { bob, carol, lamp: c } = await loadFixture(lamp);
        await helpers.setBalance(carol.address, 12345n);
        expect(await ethers.provider.getBalance(carol)).to.equal(12345n);
        await helpers.setStorageAt(c.target, 0, 77n);
        expect(await c.much()).to.equal(77n);
        expect(await helpers.getStorageAt(c.target, 0)).to.equal(ethers.toBeHex(77n, 32));
        await helpers.setCode(carol.address, await ethers.provider.getCode(c));
        expect(await c.attach(carol.address).much()).to.equal(0n);
        await helpers.setNonce(bob.address, 50);
        expect((await bob.sendTransaction({ to: c })).nonce).to.equal(50);
        await helpers.setNextBlockBaseFeePerGas(7_000_000_000n);
        await helpers.setPrevRandao(99n);
        await helpers.setCoinbase(bob.address);
        await mine();
        const block = await ethers.provider.getBlock("latest");
        expect(block.baseFeePerGas).to.equal(7_000_000_000n);
        expect(block.miner).to.equal(bob.address);
        const { random, coinbase } = await c.context();
        expect([random, coinbase]).to.deep.equal([99n, bob.address]);
    });

    it("act for any address", async () => {
        const { alice, lamp: c } = await loadFixture(lamp);
        const whale = "0x00000000000000000000000000000000000faced";
        await helpers.setBalance(whale, ethers.parseEther("2"));
        const signer = await ethers.getImpersonatedSigner(whale);
        const tx = await c.connect(signer).light(9);
        expect(tx.from.toLowerCase()).to.equal(whale);
        expect((await c.lastBy()).toLowerCase()).to.equal(whale);
        await helpers.impersonateAccount(c.target);
        await helpers.setBalance(c.target, ethers.parseEther("1"));
        const itself = await ethers.getSigner(c.target);
        await expect(itself.sendTransaction({ to: alice, value: 1n })).to.changeEtherBalance(alice, 1n);
        await helpers.stopImpersonatingAccount(whale);
        await expect(signer.sendTransaction({ to: alice })).to.be.rejected;
    });

    it("hold back and drop transactions", async () => {
        const { bob, lamp: c } = await loadFixture(lamp);
        await send("evm_setAutomine", false);
        try {
            const kept = await c.light(1);
            const dropped = await c.connect(bob).light(2);
            expect(await helpers.dropTransaction(dropped.hash)).to.equal(true);
            expect(await ethers.provider.getTransactionReceipt(kept.hash)).to.equal(null);
            const pending = await send("eth_getBlockByNumber", "pending", false);
            expect(pending.transactions).to.deep.equal([kept.hash]);
            await mine();
            expect((await kept.wait()).status).to.equal(1);
            expect(await ethers.provider.getTransaction(dropped.hash)).to.equal(null);
        } finally {
            await send("evm_setAutomine", true);
        }
    });

    it("trace what they sent", async () => {
        const { alice, lamp: c } = await loadFixture(lamp);
        const tx = await c.light(101, { gasLimit: 100_000n });
        const call = await send("debug_traceTransaction", tx.hash, { tracer: "callTracer" });
        expect(call).to.include({ type: "CALL", from: alice.address.toLowerCase(), error: "execution reverted" });
        expect(c.interface.parseError(call.output).args).to.deep.equal([101n, 100n]);
        const steps = await send("debug_traceTransaction", tx.hash);
        expect(steps.failed).to.equal(true);
        expect(steps.structLogs.at(-1).op).to.equal("REVERT");
    });

    it("start over", async () => {
        await helpers.reset();
        expect(await ethers.provider.getBlockNumber()).to.equal(0);
        const { lamp: c } = await lamp();
        expect(await c.much()).to.equal(0n);
    });
});
