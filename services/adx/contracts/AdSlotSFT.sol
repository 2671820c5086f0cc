// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title Ad slots as semi-fungible tokens
/// @notice A token id is a slot; one unit of it is one impression. Publishers get the units when a slot is made, may sell
/// them while the slot lives, and the exchange burns them from whoever holds them as impressions are delivered.
/// Roles: the owner names minters (the exchange); a minter makes slots and records deliveries.
contract AdSlotSFT is ERC1155, Ownable {
    struct AdSlot {
        address publisher;
        string placement;
        bytes32 targetingHash;
        uint256 startTime;
        uint256 endTime;
        uint256 maxImpressions;
        uint256 minViewability;
        uint256 floorCPM;
        bool active;
        uint256 delivered;
    }

    struct TargetingPredicate {
        string[] geoTargets;
        string[] deviceTypes;
        string[] categories;
        uint256 minAge;
        uint256 maxAge;
        bytes32 customHash;
    }

    mapping(uint256 => AdSlot) public adSlots;
    mapping(uint256 => TargetingPredicate) public targeting;
    mapping(address => bool) public authorizedMinters;
    uint256 public nextSlotId = 1;

    event AdSlotCreated(
        uint256 indexed slotId,
        address indexed publisher,
        string placement,
        uint256 startTime,
        uint256 endTime,
        uint256 maxImpressions
    );
    event ImpressionDelivered(uint256 indexed slotId, uint256 count);
    event SlotTransferred(uint256 indexed slotId, address from, address to, uint256 amount);

    constructor(string memory uri_) ERC1155(uri_) Ownable(msg.sender) {}

    modifier onlyMinter() {
        require(authorizedMinters[msg.sender], "Not authorized");
        _;
    }

    function setAuthorizedMinter(address minter, bool authorized) external onlyOwner {
        authorizedMinters[minter] = authorized;
    }

    /// @return slotId of the new slot, whose units belong to the publisher
    function createAdSlot(
        address publisher,
        string calldata placement,
        TargetingPredicate calldata predicate,
        uint256 startTime,
        uint256 endTime,
        uint256 maxImpressions,
        uint256 minViewability,
        uint256 floorCPM
    ) external returns (uint256 slotId) {
        require(msg.sender == owner() || authorizedMinters[msg.sender], "Not authorized");
        require(startTime < endTime, "Invalid time window");
        require(endTime > block.timestamp, "Window already ended");
        require(maxImpressions > 0, "No impressions");
        require(minViewability <= 100, "Invalid viewability");
        slotId = nextSlotId++;
        AdSlot storage slot = adSlots[slotId];
        slot.publisher = publisher;
        slot.placement = placement;
        slot.targetingHash = _hash(predicate);
        slot.startTime = startTime;
        slot.endTime = endTime;
        slot.maxImpressions = maxImpressions;
        slot.minViewability = minViewability;
        slot.floorCPM = floorCPM;
        slot.active = true;
        targeting[slotId] = predicate;
        emit AdSlotCreated(slotId, publisher, placement, startTime, endTime, maxImpressions);
        _mint(publisher, slotId, maxImpressions, "");
    }

    function recordDelivery(uint256 slotId, uint256 count) external onlyMinter {
        _deliver(slotId, adSlots[slotId].publisher, count);
    }

    /// @notice For units that were sold: they are burnt from their holder.
    function recordDeliveryFrom(uint256 slotId, address holder, uint256 count) external onlyMinter {
        _deliver(slotId, holder, count);
    }

    function deactivateSlot(uint256 slotId) external {
        require(msg.sender == adSlots[slotId].publisher || msg.sender == owner(), "Not authorized");
        adSlots[slotId].active = false;
    }

    function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes memory data) public override {
        _requireTradable(id);
        super.safeTransferFrom(from, to, id, value, data);
        emit SlotTransferred(id, from, to, value);
    }

    function safeBatchTransferFrom(
        address from,
        address to,
        uint256[] memory ids,
        uint256[] memory values,
        bytes memory data
    ) public override {
        for (uint256 i = 0; i < ids.length; i++) {
            _requireTradable(ids[i]);
        }
        super.safeBatchTransferFrom(from, to, ids, values, data);
        for (uint256 i = 0; i < ids.length; i++) {
            emit SlotTransferred(ids[i], from, to, values[i]);
        }
    }

    /// @notice The floor before the window, half as much again when it begins, falling back to the floor at its end.
    function getCurrentPrice(uint256 slotId) external view returns (uint256) {
        AdSlot storage slot = adSlots[slotId];
        if (!slot.active || block.timestamp > slot.endTime) {
            return 0;
        }
        if (block.timestamp < slot.startTime) {
            return slot.floorCPM;
        }
        uint256 remaining = slot.endTime - block.timestamp;
        return slot.floorCPM + ((slot.floorCPM / 2) * remaining) / (slot.endTime - slot.startTime);
    }

    function remainingSupply(uint256 slotId) external view returns (uint256) {
        return adSlots[slotId].maxImpressions - adSlots[slotId].delivered;
    }

    function isExpired(uint256 slotId) public view returns (bool) {
        return block.timestamp > adSlots[slotId].endTime;
    }

    /// @notice Empty lists and ages of 0 mean any; of categories one has to match.
    function matchesTargeting(
        uint256 slotId,
        string calldata geo,
        string calldata device,
        uint256 age,
        string[] calldata categories
    ) external view returns (bool) {
        TargetingPredicate storage p = targeting[slotId];
        if (!_has(p.geoTargets, geo) || !_has(p.deviceTypes, device)) {
            return false;
        }
        if ((p.minAge != 0 && age < p.minAge) || (p.maxAge != 0 && age > p.maxAge)) {
            return false;
        }
        if (p.categories.length == 0) {
            return true;
        }
        for (uint256 i = 0; i < categories.length; i++) {
            if (_has(p.categories, categories[i])) {
                return true;
            }
        }
        return false;
    }

    function _deliver(uint256 slotId, address holder, uint256 count) private {
        AdSlot storage slot = adSlots[slotId];
        require(slot.active, "Slot inactive");
        require(block.timestamp >= slot.startTime, "Window not started");
        require(block.timestamp <= slot.endTime, "Window expired");
        require(slot.delivered + count <= slot.maxImpressions, "Exceeds capacity");
        slot.delivered += count;
        emit ImpressionDelivered(slotId, count);
        _burn(holder, slotId, count);
    }

    function _requireTradable(uint256 slotId) private view {
        require(adSlots[slotId].active, "Slot inactive");
        require(!isExpired(slotId), "Slot expired");
    }

    function _hash(TargetingPredicate calldata p) private pure returns (bytes32) {
        return keccak256(abi.encode(p.geoTargets, p.deviceTypes, p.categories, p.minAge, p.maxAge, p.customHash));
    }

    function _has(string[] storage list, string calldata what) private view returns (bool) {
        bytes32 wanted = keccak256(bytes(what));
        for (uint256 i = 0; i < list.length; i++) {
            if (keccak256(bytes(list[i])) == wanted) {
                return true;
            }
        }
        return list.length == 0;
    }
}
