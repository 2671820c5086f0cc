// Deploys contracts of every kind and uses them, for the explorer's pages; says on its last line what it did.
const { ethers } = require("hardhat");

// Sends what it is paid to the address in its first argument.
const FORWARDER = "0x695f5f5f5f345f355af1005f52600a6016f3";

async function main() {
    const [alice, bob, carol] = await ethers.getSigners();
    const txs = {};
    const done = async (name, sent) => { txs[name] = (await (await sent).wait().catch((e) => e.receipt)).hash; };
    const lumen = await ethers.deployContract("Lumen", [5_000n * 10n ** 18n]);
    const badge = await ethers.deployContract("Badge");
    const lamps = await ethers.deployContract("Lamps");
    const lamp = await ethers.deployContract("Lamp");
    const forwarder = (await (await alice.sendTransaction({ data: FORWARDER })).wait()).contractAddress;
    await done("transfer", lumen.transfer(bob, 1_250n * 10n ** 18n));
    await done("approve", lumen.approve(bob, ethers.MaxUint256));
    await done("transferFrom", lumen.connect(bob).transferFrom(alice, carol, 5n * 10n ** 17n));
    await done("delegate", lumen.delegate(alice));
    await done("award", badge.award(bob));
    await done("awardCarol", badge.award(carol));
    await done("single", lamps.safeTransferFrom(alice, bob, 1n, 7n, "0x"));
    await done("batch", lamps.safeBatchTransferFrom(alice, carol, [1n, 2n], [3n, 1n], "0x"));
    await done("light", lamp.light(42n, { value: 10n ** 17n }));
    await done("seven", lamp.light(7n, { gasLimit: 200_000n }));
    await done("panic", lamp.dim(1_000n, { gasLimit: 200_000n }));
    await done("poor", lumen.connect(carol).transfer(bob, 10n ** 30n, { gasLimit: 200_000n }));
    const data = ethers.zeroPadValue(carol.address, 32);
    await done("forward", alice.sendTransaction({ to: forwarder, data, value: 25n * 10n ** 16n }));
    const of = (c) => c.target.toLowerCase();
    console.log(JSON.stringify({
        txs, lumen: of(lumen), badge: of(badge), lamps: of(lamps), lamp: of(lamp), forwarder: forwarder.toLowerCase(),
        accounts: [alice, bob, carol].map((x) => x.address.toLowerCase()), abi: lamp.interface.formatJson(),
    }));
}

main();
