// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IUniswapV3Pool} from "@uniswap/v3-core/contracts/interfaces/IUniswapV3Pool.sol";

/// Provides to and trades with a pool out of its own tokens.
contract Trader {
    function provide(IUniswapV3Pool pool, int24 low, int24 high, uint128 much) external {
        pool.mint(address(this), low, high, much, "");
    }

    function trade(IUniswapV3Pool pool, bool zeroForOne, int256 much, uint160 limit) external returns (int256, int256) {
        return pool.swap(address(this), zeroForOne, much, limit, "");
    }

    function uniswapV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata) external {
        pay(0, owed0);
        pay(1, owed1);
    }

    function uniswapV3SwapCallback(int256 owed0, int256 owed1, bytes calldata) external {
        if (owed0 > 0) pay(0, uint256(owed0));
        if (owed1 > 0) pay(1, uint256(owed1));
    }

    function pay(uint256 side, uint256 much) private {
        if (much == 0) return;
        IUniswapV3Pool pool = IUniswapV3Pool(msg.sender);
        IERC20(side == 0 ? pool.token0() : pool.token1()).transfer(msg.sender, much);
    }
}
