// What others call by its number: selectors, topics, the order of results; and the committed byte code is this source's.
const { expect } = require("chai");
const { artifacts, ethers } = require("hardhat");
const { readFileSync } = require("node:fs");

const wanted = JSON.parse(readFileSync(process.env.SELECTORS, "utf8"));
const committed = JSON.parse(readFileSync(process.env.COMMITTED, "utf8"));
const NAMES = ["AdSlotSFT", "EscrowManager"];

describe("Interfaces", () => {
    it("have every selector and topic", async () => {
        const functions = new Map();
        const topics = new Map();
        for (const name of NAMES) {
            const iface = new ethers.Interface((await artifacts.readArtifact(name)).abi);
            iface.forEachFunction((f) => functions.set(f.format("sighash"), f.selector.slice(2)));
            iface.forEachEvent((e) => topics.set(e.format("sighash"), e.topicHash.slice(2)));
        }
        for (const [signature, selector] of Object.entries(wanted.functions)) {
            expect(functions.get(signature), signature).to.equal(selector);
        }
        for (const [signature, topic] of Object.entries(wanted.events)) {
            expect(topics.get(signature), signature).to.equal(topic);
        }
    });

    it("are committed as they compile", async () => {
        for (const name of NAMES) {
            const { abi, bytecode } = await artifacts.readArtifact(name);
            expect(committed.contracts[name].abi, name).to.deep.equal(abi);
            expect(committed.contracts[name].bytecode, name).to.equal(bytecode);
        }
    });
});
