// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {console} from "hardhat/console.sol";

/// Every way in which a call can fail, the block it runs in, and lines printed.
contract Lamp {
    event Lit(address indexed by, uint256 much, uint256 at);

    error TooBright(uint256 asked, uint256 most);

    uint256 public much;
    address public lastBy;

    function light(uint256 asked) external payable {
        require(asked != 7, "seven is not allowed");
        if (asked > 100) revert TooBright(asked, 100);
        console.log("the lamp is %d bright", asked);
        much = asked;
        lastBy = msg.sender;
        emit Lit(msg.sender, asked, block.timestamp);
    }

    function dim(uint256 by) external {
        much -= by;
    }

    function smash() external pure {
        revert();
    }

    function context() external view returns (uint256 number, uint256 time, uint256 fee, uint256 random, address coinbase) {
        return (block.number, block.timestamp, block.basefee, block.prevrandao, block.coinbase);
    }

    receive() external payable {}
}
