// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IWarp} from "../common/IWarp.sol";
import {PChainOwner} from "./IValidatorManager.sol";
import {ValidatorManager} from "./ValidatorManager.sol";

/// @title Validators that one owner names
/// @notice Proof of authority. The owner may be a contract: of several who vote, or one that takes stakes.
contract PoAManager is ValidatorManager {
    address public owner;

    event OwnershipTransferred(address indexed previousOwner, address indexed newOwner);

    error OwnableUnauthorizedAccount(address account);
    error OwnableInvalidOwner(address owner);

    modifier onlyOwner() {
        if (msg.sender != owner) revert OwnableUnauthorizedAccount(msg.sender);
        _;
    }

    constructor(IWarp warp_, uint256 churnPeriod_, uint256 churnPercent_, address owner_)
        ValidatorManager(warp_, churnPeriod_, churnPercent_)
    {
        owner = owner_;
    }

    function transferOwnership(address newOwner) external onlyOwner {
        if (newOwner == address(0)) revert OwnableInvalidOwner(newOwner);
        emit OwnershipTransferred(owner, newOwner);
        owner = newOwner;
    }

    function initiateValidatorRegistration(
        bytes calldata nodeID,
        bytes calldata blsPublicKey,
        PChainOwner calldata remainingBalanceOwner,
        PChainOwner calldata disableOwner,
        uint64 weight
    ) external onlyOwner returns (bytes32) {
        return register(nodeID, blsPublicKey, remainingBalanceOwner, disableOwner, weight);
    }

    function initiateValidatorRemoval(bytes32 validationID) external onlyOwner {
        remove(validationID);
    }

    function initiateValidatorWeightUpdate(bytes32 validationID, uint64 weight)
        external
        onlyOwner
        returns (uint64 nonce, bytes32 messageID)
    {
        return updateWeight(validationID, weight);
    }
}
