// Deploys contracts of every kind, says where they are and waits for a line; then uses them in every way, says which
// transactions that were, and ends.
const { ethers } = require("hardhat");
const { createInterface } = require("node:readline");

const GAS = { gasLimit: 1_000_000n };

async function deploy() {
    const names = ["Coin", "Mute", "Old", "Relic", "Crate", "Herald"];
    const made = {};
    for (const name of names) {
        made[name] = await ethers.deployContract(name);
    }
    made.Purse = await ethers.deployContract("Purse", [], { value: 1_000n });
    made.Other = await ethers.deployContract("Purse");
    return made;
}

// Every kind of transfer, a function each.
function deeds({ Coin, Mute, Old, Relic, Crate, Herald, Purse, Other }, [alice, bob, carol]) {
    const tag = ethers.id("tag");
    const heir = "0x00000000000000000000000000000000000e1234";
    return {
        plain: (o) => alice.sendTransaction({ to: bob, value: 10n ** 18n, ...o }),
        nothing: (o) => alice.sendTransaction({ to: bob, value: 0n, ...o }),
        self: (o) => bob.sendTransaction({ to: bob, value: 7n, ...o }),
        note: (o) => carol.sendTransaction({ to: bob, value: 1n, data: "0x68656c6c6f21", ...o }),
        legacy: (o) => carol.sendTransaction({ to: bob, value: 2n, type: 0, ...o }),
        create: (o) => alice.sendTransaction({ data: "0x6001600c60003960016000f300", value: 0n, ...o }),
        createPaid: (o) => alice.sendTransaction({ data: "0x6001600c60003960016000f300", value: 9n, ...o }),
        createFails: (o) => alice.sendTransaction({ data: "0xfe", value: 9n, ...o }),
        coinTransfer: (o) => Coin.transfer(bob, 50_000n, o),
        coinSelf: (o) => Coin.transfer(alice, 1n, o),
        coinZero: (o) => Coin.transfer(carol, 0n, o),
        coinApprove: (o) => Coin.approve(bob, 100n, o),
        coinFrom: (o) => Coin.connect(bob).transferFrom(alice, carol, 60n, o),
        coinMint: (o) => Coin.mint(bob, 2n ** 255n, o),
        coinBurn: (o) => Coin.connect(bob).burn(2n ** 255n - 1n, o),
        coinPoor: (o) => Coin.connect(carol).transfer(bob, 10n ** 9n, o),
        muteMove: (o) => Mute.move(bob, 5n, o),
        oldMove: (o) => Old.move(bob, 5n, o),
        relicMint: (o) => Relic.mint(alice, 7n, o),
        relicMore: (o) => Relic.mint(bob, 2n ** 256n - 1n, o),
        relicTransfer: (o) => Relic.transferFrom(alice, bob, 7n, o),
        relicSafe: (o) => Relic.connect(bob)["safeTransferFrom(address,address,uint256)"](bob, carol, 7n, o),
        relicBurn: (o) => Relic.burn(7n, o),
        crateMint: (o) => Crate.mint(alice, 1n, 100n, o),
        crateBatch: (o) => Crate.mintBatch(alice, [1n, 2n, 3n], [5n, 2n ** 200n, 0n], o),
        crateSingle: (o) => Crate.safeTransferFrom(alice, bob, 1n, 7n, "0x", o),
        crateMany: (o) => Crate.safeBatchTransferFrom(alice, carol, [1n, 2n], [3n, 2n ** 60n], "0x01", o),
        crateNone: (o) => Crate.safeBatchTransferFrom(alice, carol, [], [], "0x", o),
        crateBurn: (o) => Crate.connect(bob).burn(1n, 2n, o),
        crateBurnMany: (o) => Crate.burnBatch([1n, 2n], [1n, 1n], o),
        cry: (o) => Herald.cry(1n, tag, o),
        cryMore: (o) => Herald.connect(bob).cry(2n, ethers.ZeroHash, o),
        pay: (o) => Purse.pay(heir, 11n, { value: 20n, ...o }),
        deep: (o) => Purse.deep(heir, 12n, o),
        make: (o) => Purse.make(heir, tag, o),
        lend: (o) => Purse.lend(Other, heir, o),
        fail: (o) => Purse.fail(heir, { value: 3n, ...o }),
        vain: (o) => Purse.vain(heir, { value: 8n, ...o }),
    };
}

async function main() {
    const accounts = (await ethers.getSigners()).slice(0, 3);
    const made = await deploy();
    const at = Object.fromEntries(Object.entries(made).map(([name, c]) => [name, c.target.toLowerCase()]));
    console.log(JSON.stringify(at));
    await new Promise((go) => createInterface({ input: process.stdin }).once("line", go));
    const txs = {};
    const all = Object.entries(deeds(made, accounts));
    for (const [name, deed] of all) {
        txs[name] = (await (await deed(GAS)).wait().catch((e) => e.receipt)).hash;
    }
    // and many of them in one block
    await ethers.provider.send("evm_setAutomine", [false]);
    for (const [name, deed] of all.filter(([name]) => /^(plain|self|coin|crate|pay|make|cry)/.test(name))) {
        txs[`again ${name}`] = (await deed(GAS)).hash;
    }
    await ethers.provider.send("evm_mine", []);
    await ethers.provider.send("evm_setAutomine", [true]);
    console.log(JSON.stringify(txs));
    process.exit(0);
}

main();
