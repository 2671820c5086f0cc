// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IWarp, WarpMessage} from "../common/IWarp.sol";
import {
    ConversionData,
    IValidatorManager,
    InitialValidator,
    PChainOwner,
    Validator,
    ValidatorStatus
} from "./IValidatorManager.sol";
import {PChainMessages} from "./PChainMessages.sol";

/// @title The validators of an L1: what every manager of them does
/// @notice Who may ask for a change is for the contracts that build on this. What the P-Chain says in answer anybody may bring.
/// @dev Settings come first in storage and nothing is immutable, so that a genesis can set them: such a contract needs no deployment.
abstract contract ValidatorManager is IValidatorManager {
    uint64 public constant REGISTRATION_EXPIRY_LENGTH = 23 hours; // the P-Chain takes a day, by its own clock
    bytes32 private constant P_CHAIN = bytes32(0);

    IWarp public warp;
    uint256 public churnPeriod; // seconds
    uint256 public churnPercent; // how much of the weight may change in a period; 0: all of it

    bytes32 public subnetID;
    bool public isValidatorSetInitialized;
    uint64 public l1TotalWeight;
    uint64 private churnStart;
    uint64 private churnWeight; // total weight when the period began
    uint64 private churned; // weight that has changed in it
    mapping(bytes32 validationID => Validator) private validators;
    mapping(bytes nodeID => bytes32) private validationIDs; // of who validates, or waits for it
    mapping(bytes32 validationID => bytes) private registrations; // payloads that the P-Chain was asked with

    error AlreadyInitialized();
    error NotInitialized();
    error NotThisManager(bytes32 blockchainID, address manager);
    error NotSigned();
    error NotFromThePChain(bytes32 sourceChainID, address sender);
    error WrongConversion(bytes32 said, bytes32 given);
    error BadNodeID(bytes nodeID);
    error BadKey(uint256 length);
    error BadOwner();
    error BadWeight(uint64 weight);
    error NodeIsThere(bytes nodeID, bytes32 validationID);
    error WrongStatus(bytes32 validationID, ValidatorStatus status);
    error WrongNonce(uint64 said, uint64 sent);
    error LastValidator(bytes32 validationID);
    error TooMuchChurn(uint64 wanted, uint64 allowed);

    constructor(IWarp warp_, uint256 churnPeriod_, uint256 churnPercent_) {
        warp = warp_;
        churnPeriod = churnPeriod_;
        churnPercent = churnPercent_;
    }

    // --- what anybody may bring ---

    function initializeValidatorSet(ConversionData calldata d, uint32 messageIndex) external {
        if (isValidatorSetInitialized) revert AlreadyInitialized();
        if (d.validatorManagerAddress != address(this) || d.validatorManagerBlockchainID != warp.getBlockchainID()) {
            revert NotThisManager(d.validatorManagerBlockchainID, d.validatorManagerAddress);
        }
        bytes32 said = PChainMessages.readConversion(pChainSaid(messageIndex));
        bytes32 given = PChainMessages.conversionID(d);
        if (said != given) revert WrongConversion(said, given);
        isValidatorSetInitialized = true;
        subnetID = d.subnetID;
        uint64 total = 0;
        for (uint32 i = 0; i < d.initialValidators.length; i++) {
            InitialValidator calldata v = d.initialValidators[i];
            bytes32 id = sha256(abi.encodePacked(d.subnetID, i));
            validationIDs[v.nodeID] = id;
            validators[id] =
                Validator(ValidatorStatus.Active, v.nodeID, v.weight, 0, 0, v.weight, uint64(block.timestamp), 0);
            total += v.weight;
            emit RegisteredInitialValidator(id, bytes20(v.nodeID), d.subnetID, v.weight, i);
        }
        l1TotalWeight = total;
    }

    function completeValidatorRegistration(uint32 messageIndex) external returns (bytes32 id) {
        bool isRegistered;
        (id, isRegistered) = PChainMessages.readRegistration(pChainSaid(messageIndex));
        Validator storage v = validators[id];
        if (!isRegistered || v.status != ValidatorStatus.PendingAdded) revert WrongStatus(id, v.status);
        v.status = ValidatorStatus.Active;
        v.startTime = uint64(block.timestamp);
        emit CompletedValidatorRegistration(id, v.weight);
    }

    function completeValidatorRemoval(uint32 messageIndex) external returns (bytes32 id) {
        bool isRegistered;
        (id, isRegistered) = PChainMessages.readRegistration(pChainSaid(messageIndex));
        Validator storage v = validators[id];
        bool waited = v.status == ValidatorStatus.PendingAdded;
        if (isRegistered || !(waited || v.status == ValidatorStatus.PendingRemoved)) revert WrongStatus(id, v.status);
        if (waited) {
            l1TotalWeight -= v.weight;
            v.weight = 0;
            v.endTime = uint64(block.timestamp);
        }
        v.status = waited ? ValidatorStatus.Invalidated : ValidatorStatus.Completed;
        delete validationIDs[v.nodeID];
        delete registrations[id];
        emit CompletedValidatorRemoval(id);
        ended(id);
    }

    function completeValidatorWeightUpdate(uint32 messageIndex) external returns (bytes32 id, uint64 nonce) {
        uint64 weight;
        (id, nonce, weight) = PChainMessages.readWeight(pChainSaid(messageIndex));
        Validator storage v = validators[id];
        if (v.status != ValidatorStatus.Active) revert WrongStatus(id, v.status);
        if (nonce > v.sentNonce || nonce <= v.receivedNonce) revert WrongNonce(nonce, v.sentNonce);
        v.receivedNonce = nonce;
        emit CompletedValidatorWeightUpdate(id, nonce, weight);
    }

    function resendRegisterValidatorMessage(bytes32 id) external {
        if (validators[id].status != ValidatorStatus.PendingAdded) revert WrongStatus(id, validators[id].status);
        warp.sendWarpMessage(registrations[id]);
    }

    function resendValidatorRemovalMessage(bytes32 id) external {
        Validator storage v = validators[id];
        if (v.status != ValidatorStatus.PendingRemoved) revert WrongStatus(id, v.status);
        warp.sendWarpMessage(PChainMessages.weightOf(id, v.sentNonce, 0));
    }

    function getValidator(bytes32 id) public view returns (Validator memory) {
        return validators[id];
    }

    function getNodeValidationID(bytes calldata nodeID) external view returns (bytes32) {
        return validationIDs[nodeID];
    }

    /// @notice The payload by which the P-Chain is asked to register a validator: also the proof of what its ID was made of. Empty for
    /// validators of the conversion.
    function registrationMessage(bytes32 id) external view returns (bytes memory) {
        return registrations[id];
    }

    // --- for the contracts that build on this ---

    function register(
        bytes memory nodeID,
        bytes memory blsPublicKey,
        PChainOwner memory remainingBalanceOwner,
        PChainOwner memory disableOwner,
        uint64 weight
    ) internal returns (bytes32 id) {
        if (!isValidatorSetInitialized) revert NotInitialized();
        if (nodeID.length != 20 || bytes20(nodeID) == 0) revert BadNodeID(nodeID);
        if (blsPublicKey.length != 48) revert BadKey(blsPublicKey.length);
        if (weight == 0) revert BadWeight(weight);
        if (validationIDs[nodeID] != 0) revert NodeIsThere(nodeID, validationIDs[nodeID]);
        checkOwner(remainingBalanceOwner);
        checkOwner(disableOwner);
        churn(weight);
        uint64 expiry = uint64(block.timestamp) + REGISTRATION_EXPIRY_LENGTH;
        bytes memory message = PChainMessages.register(
            subnetID, nodeID, blsPublicKey, expiry, remainingBalanceOwner, disableOwner, weight
        );
        id = sha256(message);
        if (validators[id].status != ValidatorStatus.Unknown) revert WrongStatus(id, validators[id].status);
        validationIDs[nodeID] = id;
        validators[id] = Validator(ValidatorStatus.PendingAdded, nodeID, weight, 0, 0, weight, 0, 0);
        registrations[id] = message;
        l1TotalWeight += weight;
        emit InitiatedValidatorRegistration(id, bytes20(nodeID), warp.sendWarpMessage(message), expiry, weight);
    }

    function remove(bytes32 id) internal {
        Validator storage v = validators[id];
        if (v.status != ValidatorStatus.Active) revert WrongStatus(id, v.status);
        if (v.weight == l1TotalWeight) revert LastValidator(id);
        uint64 weight = v.weight;
        bytes32 message = setWeight(id, v, 0);
        v.status = ValidatorStatus.PendingRemoved;
        v.endTime = uint64(block.timestamp);
        emit InitiatedValidatorRemoval(id, message, weight, v.endTime);
    }

    function updateWeight(bytes32 id, uint64 weight) internal returns (uint64 nonce, bytes32 message) {
        Validator storage v = validators[id];
        if (v.status != ValidatorStatus.Active) revert WrongStatus(id, v.status);
        if (weight == 0 || weight == v.weight) revert BadWeight(weight);
        message = setWeight(id, v, weight);
        nonce = v.sentNonce;
        emit InitiatedValidatorWeightUpdate(id, nonce, message, weight);
    }

    /// What is to be done when a validation has ended, or will never begin.
    function ended(bytes32 id) internal virtual {}

    // --- parts ---

    function setWeight(bytes32 id, Validator storage v, uint64 weight) private returns (bytes32) {
        churn(weight > v.weight ? weight - v.weight : v.weight - weight);
        l1TotalWeight = l1TotalWeight - v.weight + weight;
        v.weight = weight;
        v.sentNonce++;
        return warp.sendWarpMessage(PChainMessages.weightOf(id, v.sentNonce, weight));
    }

    function churn(uint64 weight) private {
        if (churnPercent == 0) return;
        if (block.timestamp >= churnStart + churnPeriod) {
            churnStart = uint64(block.timestamp);
            churnWeight = l1TotalWeight;
            churned = 0;
        }
        uint256 allowed = uint256(churnWeight) * churnPercent / 100;
        if (uint256(churned) + weight > allowed) revert TooMuchChurn(churned + weight, uint64(allowed));
        churned += weight;
    }

    function checkOwner(PChainOwner memory o) private pure {
        bool isGood = o.threshold <= o.addresses.length && (o.threshold == 0) == (o.addresses.length == 0);
        for (uint256 i = 0; i < o.addresses.length && isGood; i++) {
            isGood = o.addresses[i] > (i == 0 ? address(0) : o.addresses[i - 1]);
        }
        if (!isGood) revert BadOwner();
    }

    /// The payload of a message that the P-Chain has sent and validators have signed.
    function pChainSaid(uint32 messageIndex) private view returns (bytes memory) {
        (WarpMessage memory m, bool isValid) = warp.getVerifiedWarpMessage(messageIndex);
        if (!isValid) revert NotSigned();
        if (m.sourceChainID != P_CHAIN || m.originSenderAddress != address(0)) {
            revert NotFromThePChain(m.sourceChainID, m.originSenderAddress);
        }
        return m.payload;
    }
}
