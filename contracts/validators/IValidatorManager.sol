// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// @notice Where a validation is in its life.
enum ValidatorStatus {
    Unknown,
    PendingAdded, // the P-Chain has been asked, and has not answered
    Active,
    PendingRemoved,
    Completed, // it was active, and is no more
    Invalidated // it never was: the request expired
}

struct Validator {
    ValidatorStatus status;
    bytes nodeID;
    uint64 startingWeight;
    uint64 sentNonce;
    uint64 receivedNonce;
    uint64 weight;
    uint64 startTime;
    uint64 endTime;
}

/// @notice Who owns something on the P-Chain: `threshold` of these have to sign.
struct PChainOwner {
    uint32 threshold;
    address[] addresses;
}

struct InitialValidator {
    bytes nodeID;
    bytes blsPublicKey;
    uint64 weight;
}

/// @notice With what a net became an L1: what the P-Chain has hashed.
struct ConversionData {
    bytes32 subnetID;
    bytes32 validatorManagerBlockchainID;
    address validatorManagerAddress;
    InitialValidator[] initialValidators;
}

/// @title What tools and relays need of a manager of an L1's validators
/// @notice Functions, events and forms are those of ACP-99, so that what was written for the upstream's managers works with these.
interface IValidatorManager {
    event RegisteredInitialValidator(
        bytes32 indexed validationID, bytes20 indexed nodeID, bytes32 indexed subnetID, uint64 weight, uint32 index
    );
    event InitiatedValidatorRegistration(
        bytes32 indexed validationID,
        bytes20 indexed nodeID,
        bytes32 registrationMessageID,
        uint64 registrationExpiry,
        uint64 weight
    );
    event CompletedValidatorRegistration(bytes32 indexed validationID, uint64 weight);
    event InitiatedValidatorRemoval(
        bytes32 indexed validationID, bytes32 validatorWeightMessageID, uint64 weight, uint64 endTime
    );
    event CompletedValidatorRemoval(bytes32 indexed validationID);
    event InitiatedValidatorWeightUpdate(
        bytes32 indexed validationID, uint64 nonce, bytes32 weightUpdateMessageID, uint64 weight
    );
    event CompletedValidatorWeightUpdate(bytes32 indexed validationID, uint64 nonce, uint64 weight);

    /// @notice Takes in the validators of the conversion, which the P-Chain has said in the message with this index.
    function initializeValidatorSet(ConversionData calldata conversionData, uint32 messageIndex) external;

    /// @notice The P-Chain says that a validator is registered.
    function completeValidatorRegistration(uint32 messageIndex) external returns (bytes32 validationID);

    /// @notice The P-Chain says that a validator is registered no more, or never will be.
    function completeValidatorRemoval(uint32 messageIndex) external returns (bytes32 validationID);

    /// @notice The P-Chain says that a weight is set.
    function completeValidatorWeightUpdate(uint32 messageIndex) external returns (bytes32 validationID, uint64 nonce);

    /// @notice The message that registers a validator is sent again; what was signed of it before stays good.
    function resendRegisterValidatorMessage(bytes32 validationID) external;

    /// @notice The message that removes a validator is sent again.
    function resendValidatorRemovalMessage(bytes32 validationID) external;

    function getValidator(bytes32 validationID) external view returns (Validator memory);
    function getNodeValidationID(bytes calldata nodeID) external view returns (bytes32);
    function l1TotalWeight() external view returns (uint64);
    function subnetID() external view returns (bytes32);
    function isValidatorSetInitialized() external view returns (bool);
}
