const { expect } = require("chai");
const { ethers } = require("hardhat");
const { loadFixture } = require("@nomicfoundation/hardhat-network-helpers");

/* The byte code that the packages were published with: the router knows the hash of the pair's. */
const published = (path) => {
    const { abi, bytecode } = require(path);
    return new ethers.ContractFactory(abi, bytecode);
};
const UNIT = 10n ** 18n;
const ordered = (a, b) => (BigInt(a.target) < BigInt(b.target) ? [a, b] : [b, a]);

async function v2() {
    const [alice, bob] = await ethers.getSigners();
    const deploy = async (path, ...args) => {
        const c = await published(path).connect(alice).deploy(...args);
        return c.waitForDeployment();
    };
    const lumen = await ethers.deployContract("Lumen", [1_000_000n * UNIT]);
    const weth = await deploy("@uniswap/v2-periphery/build/WETH9.json");
    const factory = await deploy("@uniswap/v2-core/build/UniswapV2Factory.json", alice.address);
    const router = await deploy("@uniswap/v2-periphery/build/UniswapV2Router02.json", factory.target, weth.target);
    await lumen.approve(router, ethers.MaxUint256);
    await router.addLiquidityETH(lumen, 1_000n * UNIT, 0, 0, alice, ethers.MaxUint256, { value: 10n * UNIT });
    const { abi } = require("@uniswap/v2-core/build/UniswapV2Pair.json");
    const pair = await ethers.getContractAt(abi, await factory.getPair(lumen, weth));
    return { alice, bob, lumen, weth, router, pair };
}

/* What the constant product gives out after its fee of 0.3 %. */
const product = (much, held, other) => (much * 997n * other) / (held * 1000n + much * 997n);

async function v3() {
    const [alice] = await ethers.getSigners();
    const a = await ethers.deployContract("Lumen", [1_000_000n * UNIT]);
    const b = await ethers.deployContract("Lumen", [1_000_000n * UNIT]);
    const [token0, token1] = ordered(a, b);
    const factory = await published(
        "@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json",
    ).connect(alice).deploy();
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
