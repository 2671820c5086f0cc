// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// @notice A message as the precompile gives it: who said what on which chain.
struct WarpMessage {
    bytes32 sourceChainID;
    address originSenderAddress;
    bytes payload;
}

/// @title The Warp precompile
interface IWarp {
    function sendWarpMessage(bytes calldata payload) external returns (bytes32 messageID);

    function getVerifiedWarpMessage(uint32 index) external view returns (WarpMessage memory message, bool valid);

    function getBlockchainID() external view returns (bytes32 blockchainID);
}
