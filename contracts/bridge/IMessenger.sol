// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// @notice That a message was received, told back to where it came from. Kept for the form; here the list is empty.
struct Receipt {
    uint256 receivedMessageNonce;
    address relayerRewardAddress;
}

/// @notice A message on its way. Its ABI encoding is what validators sign; the form is that of the upstream's
/// Teleporter, so that a relay needs to know only one.
struct Message {
    uint256 messageNonce;
    address originSenderAddress;
    bytes32 destinationBlockchainID;
    address destinationAddress;
    uint256 requiredGasLimit;
    address[] allowedRelayerAddresses;
    Receipt[] receipts;
    bytes message;
}

/// @notice What a contract on the other side implements. It checks that its messenger calls, and who sent.
interface IReceiver {
    function receiveTeleporterMessage(bytes32 sourceBlockchainID, address originSenderAddress, bytes calldata message)
        external;
}

/// @title What sends messages to contracts of other chains, and brings theirs
interface IMessenger {
    event Sent(bytes32 indexed messageID, bytes32 indexed destinationBlockchainID, Message message);
    event Received(bytes32 indexed messageID, bytes32 indexed sourceBlockchainID, address relayer);
    event Executed(bytes32 indexed messageID);
    event ExecutionFailed(bytes32 indexed messageID, bytes32 indexed sourceBlockchainID, Message message);

    /// @param gasLimit what the receiver's call is given there
    function send(bytes32 destinationBlockchainID, address destinationAddress, uint256 gasLimit, bytes calldata message)
        external
        returns (bytes32 messageID);

    /// @notice For relays: brings the message in the predicate of this number.
    function receiveCrossChainMessage(uint32 messageIndex, address relayerRewardAddress) external;

    /// @notice Runs a received message again whose call failed; anybody may, with as much gas as they pay for.
    function retryMessageExecution(bytes32 sourceBlockchainID, Message calldata message) external;

    function messageReceived(bytes32 messageID) external view returns (bool);
}
