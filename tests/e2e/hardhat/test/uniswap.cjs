const { expect } = require("chai");
const { ethers } = require("hardhat");
const { loadFixture } = require("@nomicfoundation/hardhat-network-helpers");

/* V2 is compiled from its sources (uniswap.mjs); of V3 the package has interfaces and what was compiled of the rest. */
const factoryOf = ({ abi, bytecode }) => new ethers.ContractFactory(abi, bytecode);
const compiled = require("../../uniswap.json");
const UNIT = 10n ** 18n;
const ordered = (a, b) => (BigInt(a.target) < BigInt(b.target) ? [a, b] : [b, a]);

async function v2() {
    const [alice, bob] = await ethers.getSigners();
    const deploy = async (name, ...args) => {
        const c = await factoryOf(compiled[name]).connect(alice).deploy(...args);
        return c.waitForDeployment();
    };
    const lumen = await ethers.deployContract("Lumen", [1_000_000n * UNIT]);
    const weth = await deploy("WETH9");
    const factory = await deploy("UniswapV2Factory", alice.address);
    const router = await deploy("UniswapV2Router02", factory.target, weth.target);
    await lumen.approve(router, ethers.MaxUint256);
    await router.addLiquidityETH(lumen, 1_000n * UNIT, 0, 0, alice, ethers.MaxUint256, { value: 10n * UNIT });
    const pair = await ethers.getContractAt(compiled.UniswapV2Pair.abi, await factory.getPair(lumen, weth));
    return { alice, bob, lumen, weth, router, pair };
}

/* What the constant product gives out after its fee of 0.3 %. */
const product = (much, held, other) => (much * 997n * other) / (held * 1000n + much * 997n);

async function v3() {
    const [alice] = await ethers.getSigners();
    const a = await ethers.deployContract("Lumen", [1_000_000n * UNIT]);
    const b = await ethers.deployContract("Lumen", [1_000_000n * UNIT]);
    const [token0, token1] = ordered(a, b);
    const artifact = require("@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json");
    const factory = await factoryOf(artifact).connect(alice).deploy();
    await factory.createPool(a, b, 3000);
    const pool = await ethers.getContractAt("IUniswapV3Pool", await factory.getPool(a, b, 3000));
    await pool.initialize(2n ** 96n); // price 1
    const trader = await ethers.deployContract("Trader");
    await a.transfer(trader, 10_000n * UNIT);
    await b.transfer(trader, 10_000n * UNIT);
    await trader.provide(pool, -600, 600, 100_000n * UNIT);
    return { alice, token0, token1, pool, trader };
}

describe("Uniswap V2", () => {
    it("trades by the constant product", async () => {
        const { bob, lumen, weth, router, pair } = await loadFixture(v2);
        const out = product(UNIT, 10n * UNIT, 1_000n * UNIT);
        expect(await router.getAmountsOut(UNIT, [weth, lumen])).to.deep.equal([UNIT, out]);
        const swap = () =>
            router.connect(bob).swapExactETHForTokens(out, [weth, lumen], bob, ethers.MaxUint256, { value: UNIT });
        await expect(swap).to.changeTokenBalances(lumen, [bob, pair], [out, -out]);
        await expect(swap()).to.be.revertedWith("UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT");
        const [swapped] = await pair.queryFilter("Swap");
        expect(swapped.args.to).to.equal(bob.address);
    });

    it("gives the liquidity back", async () => {
        const { alice, lumen, router, pair } = await loadFixture(v2);
        const shares = await pair.balanceOf(alice);
        const back = (shares * 10n * UNIT) / (await pair.totalSupply());
        await pair.approve(router, shares);
        await expect(
            router.removeLiquidityETH(lumen, shares, 0, 0, alice, ethers.MaxUint256),
        ).to.changeEtherBalance(alice, back);
    });
});

describe("Uniswap V2, looked into", () => {
    it("shows every call and every log of a swap", async () => {
        const { bob, lumen, weth, router, pair } = await loadFixture(v2);
        const tx = await router
            .connect(bob)
            .swapExactETHForTokens(0, [weth, lumen], bob, ethers.MaxUint256, { value: UNIT });
        const receipt = await tx.wait();
        const options = { tracer: "callTracer", tracerConfig: { withLog: true } };
        const top = await ethers.provider.send("debug_traceTransaction", [tx.hash, options]);
        const flat = (frame) => [frame, ...(frame.calls ?? []).flatMap(flat)];
        const frames = flat(top);
        expect(frames.map((f) => f.to)).to.include.members([weth, pair, lumen].map((c) => c.target.toLowerCase()));
        const logs = frames.flatMap((f) => f.logs ?? []);
        expect(logs).to.have.lengthOf(receipt.logs.length);
        expect(logs.map((l) => l.data)).to.have.members(receipt.logs.map((l) => l.data));
        const { pre, post } = await ethers.provider.send("debug_traceTransaction", [
            tx.hash,
            { tracer: "prestateTracer", tracerConfig: { diffMode: true } },
        ]);
        const held = pair.target.toLowerCase();
        expect(Object.keys(post[held].storage)).to.not.be.empty;
        expect(pre[held].storage).to.not.deep.equal(post[held].storage);
        expect(BigInt(pre[bob.address.toLowerCase()].balance)).to.be.above(BigInt(post[bob.address.toLowerCase()].balance));
        const steps = await ethers.provider.send("debug_traceTransaction", [tx.hash, { disableStorage: true }]);
        expect(BigInt(steps.gas)).to.equal(receipt.gasUsed);
    });
});

describe("Uniswap V3", () => {
    it("trades within a range of ticks", async () => {
        const { token0, token1, pool, trader } = await loadFixture(v3);
        const limit = 4295128740n; // the lowest price there is
        const [gives, takes] = await trader.trade.staticCall(pool, true, 10n * UNIT, limit);
        expect(gives).to.equal(10n * UNIT);
        expect(-takes).to.be.within((996n * UNIT) / 100n, (997n * UNIT) / 100n);
        const swap = () => trader.trade(pool, true, 10n * UNIT, limit);
        await expect(swap).to.changeTokenBalances(token1, [trader, pool], [-takes, takes]);
        expect(await token0.balanceOf(pool)).to.be.above(10n * UNIT);
        const { tick, sqrtPriceX96 } = await pool.slot0();
        expect(tick).to.be.below(0n);
        expect(sqrtPriceX96).to.be.below(2n ** 96n);
    });

    it("refuses ticks out of order and a price twice", async () => {
        const { pool, trader } = await loadFixture(v3);
        await expect(trader.provide(pool, 600, -600, 1n)).to.be.revertedWith("TLU");
        await expect(pool.initialize(1n << 96n)).to.be.revertedWith("AI");
    });
});
