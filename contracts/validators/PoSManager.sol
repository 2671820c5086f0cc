// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IWarp} from "../common/IWarp.sol";
import {PChainOwner} from "./IValidatorManager.sol";
import {ValidatorManager} from "./ValidatorManager.sol";

/// @title Validators that stake the L1's own coin
/// @notice Proof of stake: weight = stake / weightFactor. Whoever stakes may leave after the minimum duration and has the stake back when
/// the P-Chain has let the validator go. The validators of the conversion have no stake; the founder may remove them.
/// There are no rewards and no delegation here: fees go where the chain's configuration sends them.
contract PoSManager is ValidatorManager {
    address public founder;
    uint256 public minimumStake; // wei
    uint256 public weightFactor; // wei for a unit of weight
    uint256 public minimumDuration; // seconds

    struct Stake {
        address owner;
        uint256 amount;
    }

    mapping(bytes32 validationID => Stake) public stakes;
    /// What could not be sent to its owner, who fetches it.
    mapping(address owner => uint256) public owed;

    uint256 private constant SEND_GAS = 50_000;

    event StakeReturned(bytes32 indexed validationID, address indexed owner, uint256 amount);

    error TooLittleStake(uint256 given, uint256 minimum);
    error NotAMultiple(uint256 given, uint256 weightFactor);
    error TooMuchStake(uint256 given);
    error NotTheStaker(address account);
    error TooEarly(uint256 until);
    error NothingOwed();

    constructor(
        IWarp warp_,
        uint256 churnPeriod_,
        uint256 churnPercent_,
        address founder_,
        uint256 minimumStake_,
        uint256 weightFactor_,
        uint256 minimumDuration_
    ) ValidatorManager(warp_, churnPeriod_, churnPercent_) {
        founder = founder_;
        minimumStake = minimumStake_;
        weightFactor = weightFactor_;
        minimumDuration = minimumDuration_;
    }

    function initiateValidatorRegistration(
        bytes calldata nodeID,
        bytes calldata blsPublicKey,
        PChainOwner calldata remainingBalanceOwner,
        PChainOwner calldata disableOwner
    ) external payable returns (bytes32 id) {
        if (msg.value < minimumStake) revert TooLittleStake(msg.value, minimumStake);
        if (msg.value % weightFactor != 0) revert NotAMultiple(msg.value, weightFactor);
        uint256 weight = msg.value / weightFactor;
        if (weight > type(uint64).max) revert TooMuchStake(msg.value);
        id = register(nodeID, blsPublicKey, remainingBalanceOwner, disableOwner, uint64(weight));
        stakes[id] = Stake(msg.sender, msg.value);
    }

    function initiateValidatorRemoval(bytes32 validationID) external {
        address staker = stakes[validationID].owner;
        if (msg.sender != (staker == address(0) ? founder : staker)) revert NotTheStaker(msg.sender);
        uint256 until = getValidator(validationID).startTime + minimumDuration;
        if (staker != address(0) && block.timestamp < until) revert TooEarly(until);
        remove(validationID);
    }

    /// @notice Fetches what could not be sent.
    function withdraw() external {
        uint256 amount = owed[msg.sender];
        if (amount == 0) revert NothingOwed();
        owed[msg.sender] = 0;
        (bool ok,) = msg.sender.call{value: amount}("");
        require(ok);
    }

    /// An owner that does not take its stake must not keep the validator: it is noted and can be fetched.
    function ended(bytes32 validationID) internal override {
        Stake memory s = stakes[validationID];
        if (s.amount == 0) return;
        delete stakes[validationID];
        emit StakeReturned(validationID, s.owner, s.amount);
        address to = s.owner;
        uint256 amount = s.amount;
        bool ok;
        assembly {
            ok := call(SEND_GAS, to, amount, 0, 0, 0, 0)
        }
        if (!ok) owed[to] += amount;
    }
}
