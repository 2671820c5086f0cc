// What the tests share: contracts with their people, the gas of what was sent.
const { expect } = require("chai");
const { ethers } = require("hardhat");
const { time } = require("@nomicfoundation/hardhat-network-helpers");
const { writeFileSync } = require("node:fs");

const id = (text) => ethers.id(text);
const gas = {};

// Waits for a transaction and notes its gas under a name, the dearest of each.
async function spend(name, sent) {
    const receipt = await (await sent).wait();
    gas[name] = Math.max(gas[name] ?? 0, Number(receipt.gasUsed));
    return receipt;
}

function writeGas() {
    if (process.env.GAS) {
        const sorted = Object.fromEntries(Object.entries(gas).sort());
        writeFileSync(process.env.GAS, JSON.stringify(sorted, null, 1) + "\n");
    }
}

async function escrow() {
    const [owner, exchange, advertiser, publisher, other, fees] = await ethers.getSigners();
    const dollar = await ethers.deployContract("TestDollar");
    const e = await ethers.deployContract("EscrowManager", [dollar]);
    await (await e.setExchange(exchange)).wait();
    await (await e.setFeeRecipient(fees)).wait();
    await (await dollar.transfer(advertiser, 1_000_000_000n)).wait();
    await (await dollar.connect(advertiser).approve(e, ethers.MaxUint256)).wait();
    return { owner, exchange, advertiser, publisher, other, fees, dollar, e };
}

// A campaign of 1,000,000 with a tenth held back.
async function funded() {
    const all = await escrow();
    await spend("fundCampaign", all.e.connect(all.advertiser).fundCampaign(id("c"), 1_000_000n, 1000));
    return all;
}

const EMPTY = { geoTargets: [], deviceTypes: [], categories: [], minAge: 0, maxAge: 0, customHash: ethers.ZeroHash };

async function slots() {
    const [owner, exchange, publisher, buyer, other] = await ethers.getSigners();
    const s = await ethers.deployContract("AdSlotSFT", ["https://ads.example/{id}"]);
    await (await s.setAuthorizedMinter(exchange, true)).wait();
    const now = await time.latest();
    return { owner, exchange, publisher, buyer, other, s, start: now + 1000, end: now + 2000 };
}

// Slot 1: 100 impressions from start to end, floor 1000.
async function oneSlot(predicate = EMPTY) {
    const all = await slots();
    const { s, exchange, publisher, start, end } = all;
    await spend(
        "createAdSlot",
        s.connect(exchange).createAdSlot(publisher, "preroll", predicate, start, end, 100n, 70n, 1000n),
    );
    return all;
}

module.exports = { expect, id, spend, writeGas, escrow, funded, slots, oneSlot, EMPTY };
