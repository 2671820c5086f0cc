// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IMessenger, IReceiver, Message, Receipt} from "./IMessenger.sol";
import {IWarp, WarpMessage} from "../common/IWarp.sol";

/// @title Messages between contracts of chains
/// @notice Stands at one address on every chain, so that a message is genuine when this address sent it there: whoever
/// deploys does so from a fresh account, as its first transaction on each chain. Nobody owns it, nothing can be changed.
/// A message is received once and executed once. When its call fails, its hash stays, and anybody may run it again.
contract Messenger is IMessenger {
    IWarp public immutable warp;
    bytes32 public immutable blockchainID;
    uint256 public sentCount;
    mapping(bytes32 messageID => bool) public messageReceived;
    /// What has been received and not yet executed: the hash of the message.
    mapping(bytes32 messageID => bytes32) public failedMessageHash;
    uint256 private entered;

    error NotSigned();
    error NotAMessenger();
    error WrongChain(bytes32 destinationBlockchainID);
    error AlreadyReceived(bytes32 messageID);
    error RelayerNotAllowed(address relayer);
    error TooLittleGas(uint256 wanted);
    error NothingToRetry(bytes32 messageID);
    error StillFails();
    error Reentered();

    modifier once() {
        if (entered != 0) revert Reentered();
        entered = 1;
        _;
        entered = 0;
    }

    constructor(IWarp warp_) {
        warp = warp_;
        blockchainID = warp_.getBlockchainID();
    }

    function messageIDOf(bytes32 source, bytes32 destination, uint256 nonce) public view returns (bytes32) {
        return keccak256(abi.encode(address(this), source, destination, nonce));
    }

    function send(bytes32 destinationBlockchainID, address destinationAddress, uint256 gasLimit, bytes calldata message)
        external
        returns (bytes32 messageID)
    {
        uint256 nonce = ++sentCount;
        Message memory m = Message({
            messageNonce: nonce,
            originSenderAddress: msg.sender,
            destinationBlockchainID: destinationBlockchainID,
            destinationAddress: destinationAddress,
            requiredGasLimit: gasLimit,
            allowedRelayerAddresses: new address[](0),
            receipts: new Receipt[](0),
            message: message
        });
        messageID = messageIDOf(blockchainID, destinationBlockchainID, nonce);
        emit Sent(messageID, destinationBlockchainID, m);
        warp.sendWarpMessage(abi.encode(m));
    }

    function receiveCrossChainMessage(uint32 messageIndex, address) external once {
        (WarpMessage memory w, bool valid) = warp.getVerifiedWarpMessage(messageIndex);
        if (!valid) revert NotSigned();
        if (w.originSenderAddress != address(this)) revert NotAMessenger();
        Message memory m = abi.decode(w.payload, (Message));
        if (m.destinationBlockchainID != blockchainID) revert WrongChain(m.destinationBlockchainID);
        bytes32 id = messageIDOf(w.sourceChainID, blockchainID, m.messageNonce);
        if (messageReceived[id]) revert AlreadyReceived(id);
        checkRelayer(m.allowedRelayerAddresses);
        messageReceived[id] = true;
        emit Received(id, w.sourceChainID, msg.sender);
        // Of what is left 63 of 64 parts can be passed on: a relay that gives too little must not make the call fail.
        if (gasleft() < m.requiredGasLimit + m.requiredGasLimit / 63 + 60_000) revert TooLittleGas(m.requiredGasLimit);
        if (execute(w.sourceChainID, m, m.requiredGasLimit)) {
            emit Executed(id);
        } else {
            failedMessageHash[id] = keccak256(abi.encode(m));
            emit ExecutionFailed(id, w.sourceChainID, m);
        }
    }

    function retryMessageExecution(bytes32 sourceBlockchainID, Message calldata message) external once {
        bytes32 id = messageIDOf(sourceBlockchainID, blockchainID, message.messageNonce);
        if (failedMessageHash[id] == 0 || failedMessageHash[id] != keccak256(abi.encode(message))) {
            revert NothingToRetry(id);
        }
        delete failedMessageHash[id];
        if (!execute(sourceBlockchainID, message, gasleft())) revert StillFails();
        emit Executed(id);
    }

    function checkRelayer(address[] memory allowed) private view {
        bool found = allowed.length == 0;
        for (uint256 i = 0; i < allowed.length && !found; i++) {
            found = allowed[i] == msg.sender;
        }
        if (!found) revert RelayerNotAllowed(msg.sender);
    }

    /// What the receiver returns is not copied: it cannot make this run out of gas.
    function execute(bytes32 source, Message memory m, uint256 gasLimit) private returns (bool ok) {
        address to = m.destinationAddress;
        if (to.code.length == 0) return false;
        bytes memory data =
            abi.encodeCall(IReceiver.receiveTeleporterMessage, (source, m.originSenderAddress, m.message));
        assembly {
            ok := call(gasLimit, to, 0, add(data, 0x20), mload(data), 0, 0)
        }
    }
}
