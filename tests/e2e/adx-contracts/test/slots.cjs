const { ethers } = require("hardhat");
const { loadFixture, takeSnapshot, time } = require("@nomicfoundation/hardhat-network-helpers");
const { expect, spend, writeGas, slots, oneSlot, EMPTY } = require("./kit.cjs");

describe("AdSlotSFT", () => {
    after(writeGas);

    it("gives a slot's units to its publisher", async () => {
        const { s, exchange, publisher, start, end } = await loadFixture(slots);
        const predicate = { ...EMPTY, geoTargets: ["US"], minAge: 18, maxAge: 65, customHash: ethers.id("x") };
        const types = ["string[]", "string[]", "string[]", "uint256", "uint256", "bytes32"];
        const hash = ethers.keccak256(ethers.AbiCoder.defaultAbiCoder().encode(types, Object.values(predicate)));
        const args = [publisher, "preroll", predicate, start, end, 100n, 70n, 1000n];
        expect(await s.connect(exchange).createAdSlot.staticCall(...args)).to.equal(1n);
        await expect(s.connect(exchange).createAdSlot(...args))
            .to.emit(s, "AdSlotCreated")
            .withArgs(1n, publisher, "preroll", start, end, 100n)
            .and.to.emit(s, "TransferSingle")
            .withArgs(exchange, ethers.ZeroAddress, publisher, 1n, 100n);
        expect(await s.adSlots(1)).to.deep.equal(
            [publisher.address, "preroll", hash, BigInt(start), BigInt(end), 100n, 70n, 1000n, true, 0n],
        );
        expect(await s.targeting(1)).to.deep.equal([18n, 65n, ethers.id("x")]);
        expect(await s.balanceOf(publisher, 1)).to.equal(100n);
        expect(await s.nextSlotId()).to.equal(2n);
        expect(await s.uri(1)).to.equal("https://ads.example/{id}");
        expect(await s.supportsInterface("0xd9b67a26")).to.equal(true);
    });

    it("refuses slots that make no sense, and strangers", async () => {
        const { s, owner, other, publisher, start, end } = await loadFixture(slots);
        const make = (who, from, to, max, view) =>
            s.connect(who).createAdSlot(publisher, "p", EMPTY, from, to, max, view, 1n);
        await expect(make(other, start, end, 1, 1)).to.be.revertedWith("Not authorized");
        await expect(make(owner, end, end, 1, 1)).to.be.revertedWith("Invalid time window");
        await expect(make(owner, 1, 2, 1, 1)).to.be.revertedWith("Window already ended");
        await expect(make(owner, start, end, 0, 1)).to.be.revertedWith("No impressions");
        await expect(make(owner, start, end, 1, 101)).to.be.revertedWith("Invalid viewability");
        await make(owner, start, end, 1, 100);
        await expect(s.connect(other).setAuthorizedMinter(other, true)).to.be.revertedWithCustomError(
            s,
            "OwnableUnauthorizedAccount",
        );
    });

    it("burns what was delivered, within window and capacity", async () => {
        const { s, exchange, publisher, owner, start, end } = await loadFixture(oneSlot);
        const record = (n) => s.connect(exchange).recordDelivery(1, n);
        await expect(s.connect(owner).recordDelivery(1, 1)).to.be.revertedWith("Not authorized");
        await expect(record(1)).to.be.revertedWith("Window not started");
        await expect(s.connect(exchange).recordDelivery(2, 1)).to.be.revertedWith("Slot inactive");
        await time.increaseTo(start);
        await expect(record(40)).to.emit(s, "ImpressionDelivered").withArgs(1n, 40n);
        await spend("recordDelivery", record(10));
        await expect(record(51)).to.be.revertedWith("Exceeds capacity");
        expect(await s.balanceOf(publisher, 1)).to.equal(50n);
        expect(await s.remainingSupply(1)).to.equal(50n);
        await time.increaseTo(end + 1);
        expect(await s.isExpired(1)).to.equal(true);
        await expect(record(1)).to.be.revertedWith("Window expired");
    });

    it("burns sold units from who holds them", async () => {
        const { s, exchange, publisher, buyer, start } = await loadFixture(oneSlot);
        await expect(s.connect(publisher).safeTransferFrom(publisher, buyer, 1, 100, "0x"))
            .to.emit(s, "SlotTransferred")
            .withArgs(1n, publisher, buyer, 100n);
        await time.increaseTo(start);
        await expect(s.connect(exchange).recordDelivery(1, 1)).to.be.revertedWithCustomError(
            s,
            "ERC1155InsufficientBalance",
        );
        await spend("recordDeliveryFrom", s.connect(exchange).recordDeliveryFrom(1, buyer, 30));
        expect(await s.balanceOf(buyer, 1)).to.equal(70n);
        expect(await s.remainingSupply(1)).to.equal(70n);
    });

    it("lets no inactive or expired slot change hands, in a batch neither", async () => {
        const { s, publisher, buyer, other, end } = await loadFixture(oneSlot);
        const one = () => s.connect(publisher).safeTransferFrom(publisher, buyer, 1, 1, "0x");
        const batch = () => s.connect(publisher).safeBatchTransferFrom(publisher, buyer, [1], [1], "0x");
        await spend("safeTransferFrom", one());
        await spend("safeBatchTransferFrom", batch());
        await expect(batch()).to.emit(s, "SlotTransferred").withArgs(1n, publisher, buyer, 1n);
        await expect(s.connect(other).safeTransferFrom(publisher, other, 1, 1, "0x")).to.be.revertedWithCustomError(
            s,
            "ERC1155MissingApprovalForAll",
        );
        await expect(s.connect(other).deactivateSlot(1)).to.be.revertedWith("Not authorized");
        const snapshot = await takeSnapshot();
        await (await s.connect(publisher).deactivateSlot(1)).wait();
        await expect(one()).to.be.revertedWith("Slot inactive");
        await expect(batch()).to.be.revertedWith("Slot inactive");
        expect(await s.getCurrentPrice(1)).to.equal(0n);
        await snapshot.restore();
        await time.increaseTo(end + 1);
        await expect(one()).to.be.revertedWith("Slot expired");
        await expect(batch()).to.be.revertedWith("Slot expired");
    });

    it("falls in price from one and a half floors to the floor", async () => {
        const { s, start, end } = await loadFixture(oneSlot);
        expect(await s.getCurrentPrice(1)).to.equal(1000n);
        await time.increaseTo(start);
        expect(await s.getCurrentPrice(1)).to.equal(1500n);
        await time.increaseTo(start + 250);
        expect(await s.getCurrentPrice(1)).to.equal(1375n);
        await time.increaseTo(end);
        expect(await s.getCurrentPrice(1)).to.equal(1000n);
        await time.increaseTo(end + 1);
        expect(await s.getCurrentPrice(1)).to.equal(0n);
    });

    it("matches viewers", async () => {
        const { s, owner, publisher, start, end } = await loadFixture(slots);
        const make = async (p) =>
            (await s.connect(owner).createAdSlot(publisher, "p", { ...EMPTY, ...p }, start, end, 1, 0, 1)).wait();
        await make({});
        await make({ geoTargets: ["US", "CA"], deviceTypes: ["ctv"], categories: ["IAB1", "IAB2"], minAge: 18, maxAge: 30 });
        const matches = (slot, geo, device, age, cats) => s.matchesTargeting(slot, geo, device, age, cats);
        expect(await matches(1, "DE", "phone", 7, [])).to.equal(true);
        expect(await matches(2, "CA", "ctv", 18, ["IAB9", "IAB2"])).to.equal(true);
        expect(await matches(2, "DE", "ctv", 18, ["IAB2"])).to.equal(false);
        expect(await matches(2, "CA", "phone", 18, ["IAB2"])).to.equal(false);
        expect(await matches(2, "CA", "ctv", 17, ["IAB2"])).to.equal(false);
        expect(await matches(2, "CA", "ctv", 31, ["IAB2"])).to.equal(false);
        expect(await matches(2, "CA", "ctv", 30, ["IAB9"])).to.equal(false);
        expect(await matches(2, "CA", "ctv", 30, [])).to.equal(false);
    });
});
