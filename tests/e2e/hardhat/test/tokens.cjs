const { expect } = require("chai");
const { ethers } = require("hardhat");
const { loadFixture } = require("@nomicfoundation/hardhat-network-helpers");

async function tokens() {
    const [alice, bob, carol] = await ethers.getSigners();
    return {
        alice,
        bob,
        carol,
        lumen: await ethers.deployContract("Lumen", [1_000_000n]),
        badge: await ethers.deployContract("Badge"),
        lamps: await ethers.deployContract("Lamps"),
        shelf: await ethers.deployContract("Shelf"),
    };
}

describe("OpenZeppelin tokens", () => {
    it("move, as events and balances say", async () => {
        const { alice, bob, carol, lumen } = await loadFixture(tokens);
        expect(await lumen.totalSupply()).to.equal(1_000_000n);
        await expect(lumen.transfer(bob, 500n)).to.emit(lumen, "Transfer").withArgs(alice, bob, 500n);
        await expect(lumen.connect(bob).transfer(carol, 20n)).to.changeTokenBalances(lumen, [bob, carol], [-20n, 20n]);
        await lumen.approve(bob, 7n);
        await expect(lumen.connect(bob).transferFrom(alice, carol, 8n))
            .to.be.revertedWithCustomError(lumen, "ERC20InsufficientAllowance")
            .withArgs(bob, 7n, 8n);
        await lumen.connect(bob).transferFrom(alice, carol, 7n);
        expect(await lumen.allowance(alice, bob)).to.equal(0n);
        expect(await lumen.queryFilter("Transfer", 0)).to.have.lengthOf(4);
    });

    it("take a permit that the node signed", async () => {
        const { alice, bob, lumen } = await loadFixture(tokens);
        const { chainId } = await ethers.provider.getNetwork();
        const deadline = ethers.MaxUint256;
        const signature = await alice.signTypedData(
            { name: "Lumen", version: "1", chainId, verifyingContract: await lumen.getAddress() },
            {
                Permit: [
                    { name: "owner", type: "address" },
                    { name: "spender", type: "address" },
                    { name: "value", type: "uint256" },
                    { name: "nonce", type: "uint256" },
                    { name: "deadline", type: "uint256" },
                ],
            },
            { owner: alice.address, spender: bob.address, value: 33n, nonce: 0n, deadline },
        );
        const { v, r, s } = ethers.Signature.from(signature);
        await expect(lumen.connect(bob).permit(alice, bob, 33n, deadline, v, r, s)).to.emit(lumen, "Approval");
        expect(await lumen.allowance(alice, bob)).to.equal(33n);
        await expect(lumen.permit(alice, bob, 33n, deadline, v, r, s)).to.be.revertedWithCustomError(
            lumen,
            "ERC2612InvalidSigner",
        );
    });

    it("are owned one by one", async () => {
        const { alice, bob, badge, shelf } = await loadFixture(tokens);
        await expect(badge.award(bob)).to.emit(badge, "Transfer").withArgs(ethers.ZeroAddress, bob, 1n);
        await expect(badge.connect(bob).award(bob)).to.be.revertedWithCustomError(badge, "OwnableUnauthorizedAccount");
        await expect(badge.award(shelf)).to.be.revertedWithCustomError(badge, "ERC721InvalidReceiver");
        await expect(badge.ownerOf(9)).to.be.revertedWithCustomError(badge, "ERC721NonexistentToken").withArgs(9n);
        await badge.connect(bob).approve(alice, 1);
        await badge.transferFrom(bob, alice, 1);
        expect(await badge.ownerOf(1)).to.equal(alice.address);
    });

    it("are owned many at a time", async () => {
        const { alice, bob, lamps, shelf } = await loadFixture(tokens);
        await expect(lamps.safeBatchTransferFrom(alice, shelf, [1, 2], [10, 5], "0x"))
            .to.emit(lamps, "TransferBatch")
            .withArgs(alice, alice, shelf, [1n, 2n], [10n, 5n]);
        expect(await lamps.balanceOfBatch([alice, shelf, bob], [1, 1, 1])).to.deep.equal([90n, 10n, 0n]);
        await expect(lamps.safeTransferFrom(alice, bob, 2, 1, "0x")).to.be.revertedWithCustomError(
            lamps,
            "ERC1155InsufficientBalance",
        );
    });
});
