// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title A token to try the bridge with: whoever deploys it has all of it
contract TestToken is ERC20 {
    constructor(uint256 supply) ERC20("Test Token", "TEST") {
        _mint(msg.sender, supply);
    }
}
