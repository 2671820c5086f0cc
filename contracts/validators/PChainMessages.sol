// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {ConversionData, InitialValidator, PChainOwner} from "./IValidatorManager.sol";

/// @title What a manager and the P-Chain tell each other: the payloads of their messages, in the P-Chain's form
/// @dev u16 version 0, u32 type, fields big-endian; byte strings and lists with their u32 length in front.
library PChainMessages {
    uint32 private constant CONVERSION = 0;
    uint32 private constant REGISTER = 1;
    uint32 private constant REGISTRATION = 2;
    uint32 private constant WEIGHT = 3;

    error BadMessage();

    function conversionID(ConversionData memory d) internal pure returns (bytes32) {
        bytes memory all = abi.encodePacked(
            uint16(0),
            d.subnetID,
            d.validatorManagerBlockchainID,
            uint32(20),
            d.validatorManagerAddress,
            uint32(d.initialValidators.length)
        );
        for (uint256 i = 0; i < d.initialValidators.length; i++) {
            InitialValidator memory v = d.initialValidators[i];
            all = bytes.concat(
                all, abi.encodePacked(uint32(v.nodeID.length), v.nodeID, v.blsPublicKey, v.weight)
            );
        }
        return sha256(all);
    }

    function register(
        bytes32 subnetID,
        bytes memory nodeID,
        bytes memory blsPublicKey,
        uint64 expiry,
        PChainOwner memory remainingBalanceOwner,
        PChainOwner memory disableOwner,
        uint64 weight
    ) internal pure returns (bytes memory) {
        return bytes.concat(
            abi.encodePacked(uint16(0), REGISTER, subnetID, uint32(nodeID.length), nodeID, blsPublicKey, expiry),
            owner(remainingBalanceOwner),
            owner(disableOwner),
            abi.encodePacked(weight)
        );
    }

    function owner(PChainOwner memory o) private pure returns (bytes memory out) {
        out = abi.encodePacked(o.threshold, uint32(o.addresses.length));
        for (uint256 i = 0; i < o.addresses.length; i++) {
            out = abi.encodePacked(out, o.addresses[i]);
        }
    }

    function weightOf(bytes32 validationID, uint64 nonce, uint64 weight) internal pure returns (bytes memory) {
        return abi.encodePacked(uint16(0), WEIGHT, validationID, nonce, weight);
    }

    function readConversion(bytes memory b) internal pure returns (bytes32 id) {
        check(b, CONVERSION, 38);
        assembly {
            id := mload(add(b, 38))
        }
    }

    function readRegistration(bytes memory b) internal pure returns (bytes32 validationID, bool isRegistered) {
        check(b, REGISTRATION, 39);
        if (uint8(b[38]) > 1) revert BadMessage();
        isRegistered = b[38] == 0x01;
        assembly {
            validationID := mload(add(b, 38))
        }
    }

    function readWeight(bytes memory b) internal pure returns (bytes32 validationID, uint64 nonce, uint64 weight) {
        check(b, WEIGHT, 54);
        assembly {
            validationID := mload(add(b, 38))
            nonce := and(mload(add(b, 46)), 0xffffffffffffffff)
            weight := and(mload(add(b, 54)), 0xffffffffffffffff)
        }
    }

    function check(bytes memory b, uint32 kind, uint256 size) private pure {
        if (b.length != size || bytes6(b) != bytes6(uint48(kind))) revert BadMessage();
    }
}
