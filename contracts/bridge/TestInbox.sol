// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IMessenger, IReceiver} from "./IMessenger.sol";

/// @title A receiver that counts, for tests: each word how often it came, and calls that fail until they are allowed
contract TestInbox is IReceiver {
    mapping(uint256 word => uint256) public times;
    uint256 public total;
    bool public refuses;

    function setRefuses(bool yes) external {
        refuses = yes;
    }

    /// Sends words first … first + cnt - 1 to an inbox of another chain.
    function flood(IMessenger messenger, bytes32 chain, address inbox, uint256 first, uint256 cnt) external {
        for (uint256 i = first; i < first + cnt; i++) {
            messenger.send(chain, inbox, 100_000, abi.encode(i));
        }
    }

    function receiveTeleporterMessage(bytes32, address, bytes calldata message) external {
        require(!refuses, "not now");
        times[abi.decode(message, (uint256))]++;
        total++;
    }
}
