const { ethers } = require("hardhat");
const { loadFixture, time } = require("@nomicfoundation/hardhat-network-helpers");
const { expect, id, spend, writeGas, escrow, funded } = require("./kit.cjs");

const DAY = 86400;
const leafOf = (r, publisher, amount) =>
    ethers.solidityPackedKeccak256(["bytes32", "address", "uint256"], [r, publisher.address ?? publisher, amount]);
const pair = (a, b) => ethers.keccak256(ethers.concat(a < b ? [a, b] : [b, a]));

// Budgets add up, and the token's balance is what everybody is owed.
async function balanced({ e, dollar }, people, held = 0n) {
    const c = await e.getCampaign(id("c"));
    expect(c.totalBudget).to.equal(c.availableBudget + c.reservedBudget + c.spentBudget);
    let owed = c.availableBudget + c.reservedBudget + held;
    for (const p of people) {
        owed += await e.publisherBalances(p);
    }
    expect(await dollar.balanceOf(e)).to.equal(owed);
}

// An event and a movement of tokens cannot be asked for in one chain.
async function both(sent, ...checks) {
    const tx = await sent;
    for (const check of checks) {
        await check(tx);
    }
}

describe("EscrowManager", () => {
    after(writeGas);

    it("takes money first, from one owner a campaign", async () => {
        const { e, advertiser, other, dollar } = await loadFixture(escrow);
        const fund = (who, amount, bps) => e.connect(who).fundCampaign(id("c"), amount, bps);
        await expect(fund(advertiser, 0, 0)).to.be.revertedWith("Amount must be positive");
        await expect(fund(advertiser, 1, 2001)).to.be.revertedWith("Holdback cannot exceed 20%");
        await both(
            fund(advertiser, 100, 2000),
            (tx) => expect(tx).to.emit(e, "CampaignFunded").withArgs(id("c"), advertiser, 100n),
            (tx) => expect(tx).to.changeTokenBalances(dollar, [advertiser, e], [-100n, 100n]),
        );
        await expect(fund(other, 1, 0)).to.be.revertedWith("Only campaign owner can fund");
        await (await fund(advertiser, 50, 0)).wait();
        expect(await e.getCampaign(id("c"))).to.deep.equal([advertiser.address, 150n, 150n, 0n, 0n, true, 2000n]);
        expect((await e.campaigns(id("c"))).created).to.be.greaterThan(0n);
        await (await dollar.refuse(true)).wait();
        await expect(fund(advertiser, 1, 0)).to.be.revertedWith("Transfer failed");
    });

    it("reserves, settles and pays: holdback, fee and the rest", async () => {
        const all = await loadFixture(funded);
        const { e, exchange, publisher, fees, dollar } = all;
        const x = e.connect(exchange);
        await expect(x.reserveBudget(id("r"), id("c"), publisher, 12345, 10))
            .to.emit(e, "ReservationCreated")
            .withArgs(id("r"), id("c"), publisher, 12345n);
        await balanced(all, [publisher, fees]);
        await expect(x.settleReceipt(id("r"), id("proof")))
            .to.emit(e, "ReceiptSettled")
            .withArgs(id("r"), publisher, 12345n);
        // A tenth of 12,345 is held back (1,235: the publisher's part is rounded down), 12 are the fee.
        expect(await e.publisherBalances(publisher)).to.equal(11110n - 12n);
        expect(await e.publisherBalances(fees)).to.equal(12n);
        await balanced(all, [publisher, fees], 1235n);
        expect((await e.reservations(id("r"))).settled).to.equal(true);
        await both(
            e.connect(publisher).withdrawPublisher(),
            (tx) => expect(tx).to.emit(e, "PublisherPayout").withArgs(publisher, 11098n),
            (tx) => expect(tx).to.changeTokenBalances(dollar, [publisher, e], [11098n, -11098n]),
        );
        await expect(e.connect(publisher).withdrawPublisher()).to.be.revertedWith("No balance");
    });

    it("is settled by the exchange alone", async () => {
        const { e, exchange, publisher, owner, other } = await loadFixture(funded);
        const calls = [
            (c) => c.reserveBudget(id("r"), id("c"), publisher, 1, 1),
            (c) => c.settleReceipt(id("r"), id("p")),
            (c) => c.settleBatch(id("c"), id("root"), 1),
        ];
        for (const call of calls) {
            for (const who of [other, publisher, owner]) {
                await expect(call(e.connect(who))).to.be.revertedWith("Not authorized");
            }
        }
        await expect(e.connect(other).setExchange(other)).to.be.revertedWithCustomError(e, "OwnableUnauthorizedAccount");
        await expect(e.connect(other).revokeHoldback(id("r"))).to.be.revertedWithCustomError(
            e,
            "OwnableUnauthorizedAccount",
        );
        await (await e.setExchange(other)).wait();
        await expect(calls[0](e.connect(exchange))).to.be.revertedWith("Not authorized");
        await (await calls[0](e.connect(other))).wait();
    });

    it("refuses what it must", async () => {
        const { e, exchange, publisher } = await loadFixture(funded);
        const x = e.connect(exchange);
        const reserve = (r, amount, ttl) => x.reserveBudget(id(r), id("c"), publisher, amount, ttl);
        await expect(reserve("r", 1, 11)).to.be.revertedWith("TTL too long");
        await expect(reserve("r", 0, 1)).to.be.revertedWith("Amount must be positive");
        await expect(reserve("r", 1_000_001, 1)).to.be.revertedWith("Insufficient budget");
        await expect(x.reserveBudget(id("r"), id("none"), publisher, 1, 1)).to.be.revertedWith("Campaign inactive");
        await (await reserve("r", 1, 10)).wait();
        await expect(reserve("r", 1, 10)).to.be.revertedWith("Reservation exists");
        await expect(x.settleReceipt(id("none"), id("p"))).to.be.revertedWith("Reservation not found");
        await (await x.settleReceipt(id("r"), id("p"))).wait();
        await expect(x.settleReceipt(id("r"), id("p"))).to.be.revertedWith("Already settled");
        await expect(x.releaseExpiredReservation(id("r"))).to.be.revertedWith("Already settled");
        await expect(reserve("r", 1, 10)).to.be.revertedWith("Reservation exists");
    });

    it("gives expired reservations back, once", async () => {
        const all = await loadFixture(funded);
        const { e, exchange, publisher, other, fees } = all;
        const x = e.connect(exchange);
        await spend("reserveBudget", x.reserveBudget(id("r"), id("c"), publisher, 1000, 10));
        await expect(e.connect(other).releaseExpiredReservation(id("r"))).to.be.revertedWith("Not expired");
        await time.increase(11);
        await expect(x.settleReceipt(id("r"), id("p"))).to.be.revertedWith("Reservation expired");
        await spend("releaseExpiredReservation", e.connect(other).releaseExpiredReservation(id("r")));
        expect((await e.getCampaign(id("c"))).availableBudget).to.equal(1_000_000n);
        await expect(e.releaseExpiredReservation(id("r"))).to.be.revertedWith("Already settled");
        await expect(e.releaseExpiredReservation(id("none"))).to.be.revertedWith("Reservation not found");
        await expect(x.settleReceipt(id("r"), id("p"))).to.be.revertedWith("Already settled");
        await balanced(all, [publisher, fees]);
    });

    it("holds back for 48 hours, in which the owner may revoke", async () => {
        const all = await loadFixture(funded);
        const { e, exchange, publisher, fees } = all;
        const x = e.connect(exchange);
        for (const r of ["kept", "revoked"]) {
            await (await x.reserveBudget(id(r), id("c"), publisher, 10_000, 10)).wait();
            await spend("settleReceipt", x.settleReceipt(id(r), id("p")));
        }
        await time.increase(2 * DAY - 60);
        await expect(e.claimHoldback(id("kept"))).to.be.revertedWith("Holdback locked");
        await expect(e.revokeHoldback(id("revoked")))
            .to.emit(e, "HoldbackRevoked")
            .withArgs(id("revoked"), id("c"), 1000n);
        await balanced(all, [publisher, fees], 1000n);
        expect((await e.getCampaign(id("c"))).availableBudget).to.equal(981_000n);
        await time.increase(60);
        await spend("claimHoldback", e.claimHoldback(id("kept")));
        await expect(e.claimHoldback(id("kept"))).to.be.revertedWith("No holdback");
        await expect(e.claimHoldback(id("revoked"))).to.be.revertedWith("No holdback");
        await expect(e.revokeHoldback(id("kept"))).to.be.revertedWith("No holdback");
        expect(await e.publisherBalances(publisher)).to.equal(2n * 8990n + 1000n);
        await balanced(all, [publisher, fees]);
    });

    it("keeps the owner from revoking what is due", async () => {
        const { e, exchange, publisher } = await loadFixture(funded);
        const x = e.connect(exchange);
        await (await x.reserveBudget(id("r"), id("c"), publisher, 10_000, 10)).wait();
        await (await x.settleReceipt(id("r"), id("p"))).wait();
        await time.increase(2 * DAY);
        await expect(e.revokeHoldback(id("r"))).to.be.revertedWith("Holdback released");
    });

    it("pauses, resumes and gives back what is left", async () => {
        const all = await loadFixture(funded);
        const { e, exchange, advertiser, publisher, other, fees, dollar } = all;
        const x = e.connect(exchange);
        const a = e.connect(advertiser);
        for (const call of ["pauseCampaign", "resumeCampaign", "withdrawCampaignBudget"]) {
            await expect(e.connect(other)[call](id("c"))).to.be.revertedWith("Not campaign owner");
        }
        await (await x.reserveBudget(id("r"), id("c"), publisher, 400, 10)).wait();
        await spend("pauseCampaign", a.pauseCampaign(id("c")));
        await expect(x.reserveBudget(id("s"), id("c"), publisher, 1, 1)).to.be.revertedWith("Campaign inactive");
        await both(
            a.withdrawCampaignBudget(id("c")),
            (tx) => expect(tx).to.emit(e, "BudgetWithdrawn").withArgs(advertiser, 999_600n),
            (tx) => expect(tx).to.changeTokenBalances(dollar, [advertiser, e], [999_600n, -999_600n]),
        );
        expect(await e.advertiserRefunds(advertiser)).to.equal(999_600n);
        await expect(a.withdrawCampaignBudget(id("c"))).to.be.revertedWith("No available budget");
        await (await x.settleReceipt(id("r"), id("p"))).wait(); // what was reserved is still paid
        await balanced(all, [publisher, fees], 40n);
        await spend("resumeCampaign", a.resumeCampaign(id("c")));
        await expect(x.reserveBudget(id("s"), id("c"), publisher, 1, 1)).to.be.revertedWith("Insufficient budget");
    });

    it("settles a batch in one transaction and pays its leaves once", async () => {
        const all = await loadFixture(funded);
        const { e, exchange, publisher, other, fees } = all;
        const x = e.connect(exchange);
        const leaves = [leafOf(id("r1"), publisher, 300n), leafOf(id("r2"), other, 700n), leafOf(id("r3"), publisher, 500n)];
        const low = pair(leaves[0], leaves[1]);
        const root = pair(low, leaves[2]);
        await expect(x.settleBatch(id("c"), root, 0)).to.be.revertedWith("Amount must be positive");
        await expect(x.settleBatch(id("c"), root, 1_000_001)).to.be.revertedWith("Insufficient budget");
        await expect(e.claimFromBatch(root, id("r1"), publisher, 300, [])).to.be.revertedWith("Batch not found");
        await spend("settleBatch", x.settleBatch(id("c"), root, 1500));
        await expect(x.settleBatch(id("c"), root, 1500)).to.be.revertedWith("Batch exists");
        await balanced(all, [publisher, other, fees], 1500n);
        await expect(e.claimFromBatch(root, id("r1"), publisher, 301, [leaves[1], leaves[2]])).to.be.revertedWith("Not in batch");
        await expect(e.claimFromBatch(root, id("r1"), other, 300, [leaves[1], leaves[2]])).to.be.revertedWith("Not in batch");
        await spend("claimFromBatch", e.claimFromBatch(root, id("r1"), publisher, 300, [leaves[1], leaves[2]]));
        await expect(e.claimFromBatch(root, id("r1"), publisher, 300, [leaves[1], leaves[2]])).to.be.revertedWith("Already settled");
        await expect(e.claimFromBatch(root, id("r2"), other, 700, [leaves[0], leaves[2]]))
            .to.emit(e, "ReceiptSettled")
            .withArgs(id("r2"), other, 700n);
        await (await e.claimFromBatch(root, id("r3"), publisher, 500, [low])).wait();
        expect(await e.publisherBalances(publisher)).to.equal(270n + 450n);
        expect(await e.publisherBalances(other)).to.equal(630n);
        expect((await e.batches(root)).unclaimed).to.equal(0n);
        await balanced(all, [publisher, other, fees], 150n);
        await expect(x.reserveBudget(id("r1"), id("c"), publisher, 1, 1)).to.be.revertedWith("Reservation exists");
    });

    it("pays no more out of a batch than it settled", async () => {
        const { e, exchange, publisher, other } = await loadFixture(funded);
        const leaves = [leafOf(id("r1"), publisher, 300n), leafOf(id("r2"), other, 700n)];
        const root = pair(...leaves);
        await (await e.connect(exchange).settleBatch(id("c"), root, 900)).wait();
        await (await e.claimFromBatch(root, id("r2"), other, 700, [leaves[0]])).wait();
        await expect(e.claimFromBatch(root, id("r1"), publisher, 300, [leaves[1]])).to.be.revertedWith("Batch exhausted");
    });

    it("is not entered twice", async () => {
        const { e, exchange, publisher, dollar, advertiser } = await loadFixture(funded);
        const x = e.connect(exchange);
        await (await x.reserveBudget(id("r"), id("c"), publisher, 10_000, 10)).wait();
        await (await x.settleReceipt(id("r"), id("p"))).wait();
        await (await dollar.reenter(e, e.interface.encodeFunctionData("withdrawPublisher"))).wait();
        await expect(e.connect(publisher).withdrawPublisher()).to.be.revertedWithCustomError(
            e,
            "ReentrancyGuardReentrantCall",
        );
        await expect(e.connect(advertiser).withdrawCampaignBudget(id("c"))).to.be.revertedWithCustomError(
            e,
            "ReentrancyGuardReentrantCall",
        );
        await (await dollar.reenter(ethers.ZeroAddress, "0x")).wait();
        await (await dollar.refuse(true)).wait();
        await expect(e.connect(publisher).withdrawPublisher()).to.be.revertedWith("Transfer failed");
        await (await dollar.refuse(false)).wait();
        await spend("withdrawPublisher", e.connect(publisher).withdrawPublisher());
        await spend("withdrawCampaignBudget", e.connect(advertiser).withdrawCampaignBudget(id("c")));
    });
});
