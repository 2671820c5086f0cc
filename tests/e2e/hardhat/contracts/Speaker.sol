// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {console} from "hardhat/console.sol";

/// Prints a value of every kind, and every format.
contract Speaker {
    function speak() external view {
        console.log();
        console.logInt(-7);
        console.log(type(uint256).max);
        console.log("text", true, address(0x1234));
        console.logBytes(hex"00ff");
        console.logBytes1(0xab);
        console.logBytes32(bytes32(uint256(1)));
        console.log("%s holds %d of %i, %o and %O", address(0xbeef), uint256(5), uint256(6));
        console.log("%s", "100 %");
        console.log("%d%% of %s", uint256(50), "it", true);
        console.log("%o %f %j", uint256(1), false, "x");
        console.log(uint256(1), "two", false, address(4));
    }
}
