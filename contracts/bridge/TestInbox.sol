// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IReceiver} from "./IMessenger.sol";

/// @title A receiver that counts, for tests: each word how often it came, and calls that fail until they are allowed
contract TestInbox is IReceiver {
    mapping(uint256 word => uint256) public times;
    uint256 public total;
    bool public refuses;

    function setRefuses(bool yes) external {
        refuses = yes;
    }

    function receiveTeleporterMessage(bytes32, address, bytes calldata message) external {
        require(!refuses, "not now");
        times[abi.decode(message, (uint256))]++;
        total++;
    }
}
