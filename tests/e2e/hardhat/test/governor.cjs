const { expect } = require("chai");
const { ethers } = require("hardhat");
const { loadFixture, mine, mineUpTo, time } = require("@nomicfoundation/hardhat-network-helpers");

const wrongState = "GovernorUnexpectedProposalState";
const DAY = 24 * 3600;
const Against = 0;
const For = 1;
const Pending = 0n, Active = 1n, Defeated = 3n, Succeeded = 4n, Queued = 5n, Executed = 7n;

async function government() {
    const [alice, bob, carol] = await ethers.getSigners();
    const lumen = await ethers.deployContract("Lumen", [1_000n]);
    const lock = await ethers.deployContract(
        "@openzeppelin/contracts/governance/TimelockController.sol:TimelockController",
        [2 * DAY, [], [ethers.ZeroAddress], alice],
    );
    const council = await ethers.deployContract("Council", [lumen, lock]);
    await lock.grantRole(await lock.PROPOSER_ROLE(), council);
    await lumen.transfer(bob, 400n);
    await lumen.transfer(lock, 100n);
    await lumen.connect(bob).delegate(bob);
    await lumen.delegate(alice);
    const call = lumen.interface.encodeFunctionData("transfer", [carol.address, 100n]);
    const proposal = [[await lumen.getAddress()], [0n], [call]];
    const text = "Pay carol";
    await council.propose(...proposal, text);
    const id = await council.hashProposal(...proposal, ethers.id(text));
    return { alice, bob, carol, lumen, lock, council, proposal, text: ethers.id(text), id };
}

describe("OpenZeppelin Governor", () => {
    it("carries a proposal from its vote through the time lock to its execution", async () => {
        const { alice, bob, carol, lumen, council, proposal, text, id } = await loadFixture(government);
        expect(await council.state(id)).to.equal(Pending);
        await expect(council.castVote(id, For)).to.be.revertedWithCustomError(council, wrongState);
        await mine(7200);
        await mine();
        expect(await council.state(id)).to.equal(Active);
        await expect(council.castVote(id, For)).to.emit(council, "VoteCast").withArgs(alice, id, For, 500n, "");
        await council.connect(bob).castVote(id, Against);
        await mineUpTo((await council.proposalDeadline(id)) + 1n);
        expect(await council.state(id)).to.equal(Succeeded);
        await council.queue(...proposal, text);
        expect(await council.state(id)).to.equal(Queued);
        await expect(council.execute(...proposal, text)).to.be.reverted;
        await time.increase(2 * DAY);
        await expect(council.execute(...proposal, text)).to.changeTokenBalance(lumen, carol, 100n);
        expect(await council.state(id)).to.equal(Executed);
    });

    it("drops a proposal that nobody votes for", async () => {
        const { council, proposal, text, id } = await loadFixture(government);
        await mineUpTo((await council.proposalDeadline(id)) + 1n);
        expect(await council.state(id)).to.equal(Defeated);
        await expect(council.queue(...proposal, text)).to.be.revertedWithCustomError(council, wrongState);
    });
});
