// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ReentrancyGuard} from "@openzeppelin/contracts/utils/ReentrancyGuard.sol";
import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";

/// @title Escrow between advertisers and publishers
/// @notice Advertisers pay in first; the exchange reserves and settles, one impression or a whole batch at a time. Of
/// every settlement the publisher gets its part at once, a thousandth is the fee, and the holdback follows after 48
/// hours unless the owner revokes it within them.
///
///   per campaign:  total = available + reserved + spent
///   of the token:  balance = sum (available + reserved) + publisher balances + holdbacks + unclaimed batches
contract EscrowManager is Ownable, ReentrancyGuard {
    struct Campaign {
        address advertiser;
        uint256 totalBudget;
        uint256 availableBudget;
        uint256 reservedBudget;
        uint256 spentBudget;
        bool active;
        uint16 holdbackBps;
        uint256 created;
    }

    struct Reservation {
        bytes32 campaignId;
        address publisher;
        uint256 amount;
        uint256 expires;
        bool settled;
    }

    struct Holdback {
        bytes32 campaignId;
        address publisher;
        uint256 amount;
        uint256 releaseTime;
    }

    /// What was settled together; publishers claim their leaves.
    struct Batch {
        bytes32 campaignId;
        uint256 unclaimed;
        uint256 settledAt;
    }

    uint256 private constant BPS = 10000;
    uint256 public constant FEE_BPS = 10;
    uint256 public constant MAX_HOLDBACK_BPS = 2000;
    uint256 public constant MAX_TTL = 10;
    uint256 public constant HOLDBACK_DELAY = 48 hours;

    IERC20 public immutable AUSD;
    address public exchange;
    address public feeRecipient;
    mapping(bytes32 => Campaign) public campaigns;
    mapping(bytes32 => Reservation) public reservations;
    mapping(bytes32 => Holdback) public holdbacks;
    mapping(bytes32 => Batch) public batches;
    mapping(address => uint256) public publisherBalances;
    /// What an advertiser has ever taken back.
    mapping(address => uint256) public advertiserRefunds;

    event CampaignFunded(bytes32 indexed campaignId, address indexed advertiser, uint256 amount);
    event ReservationCreated(
        bytes32 indexed reservationId,
        bytes32 indexed campaignId,
        address indexed publisher,
        uint256 amount
    );
    event ReceiptSettled(bytes32 indexed reservationId, address indexed publisher, uint256 amount);
    event BudgetWithdrawn(address indexed advertiser, uint256 amount);
    event PublisherPayout(address indexed publisher, uint256 amount);
    event BatchSettled(bytes32 indexed campaignId, bytes32 indexed merkleRoot, uint256 total);
    event HoldbackRevoked(bytes32 indexed reservationId, bytes32 indexed campaignId, uint256 amount);

    constructor(address token) Ownable(msg.sender) {
        AUSD = IERC20(token);
        feeRecipient = msg.sender;
    }

    modifier onlyExchange() {
        require(msg.sender == exchange, "Not authorized");
        _;
    }

    modifier onlyAdvertiser(bytes32 campaignId) {
        require(campaigns[campaignId].advertiser == msg.sender, "Not campaign owner");
        _;
    }

    function setExchange(address exchange_) external onlyOwner {
        exchange = exchange_;
    }

    function setFeeRecipient(address recipient) external onlyOwner {
        require(recipient != address(0), "No recipient");
        feeRecipient = recipient;
    }

    // --- advertisers ---

    /// @notice The first to fund a campaign owns it and fixes its holdback.
    function fundCampaign(bytes32 campaignId, uint256 amount, uint16 holdbackBps) external nonReentrant {
        require(amount > 0, "Amount must be positive");
        require(holdbackBps <= MAX_HOLDBACK_BPS, "Holdback cannot exceed 20%");
        Campaign storage c = campaigns[campaignId];
        if (c.advertiser == address(0)) {
            c.advertiser = msg.sender;
            c.holdbackBps = holdbackBps;
            c.created = block.timestamp;
            c.active = true;
        }
        require(c.advertiser == msg.sender, "Only campaign owner can fund");
        c.totalBudget += amount;
        c.availableBudget += amount;
        emit CampaignFunded(campaignId, msg.sender, amount);
        require(AUSD.transferFrom(msg.sender, address(this), amount), "Transfer failed");
    }

    function withdrawCampaignBudget(bytes32 campaignId) external nonReentrant onlyAdvertiser(campaignId) {
        Campaign storage c = campaigns[campaignId];
        uint256 amount = c.availableBudget;
        require(amount > 0, "No available budget");
        c.availableBudget = 0;
        c.totalBudget -= amount;
        advertiserRefunds[msg.sender] += amount;
        emit BudgetWithdrawn(msg.sender, amount);
        require(AUSD.transfer(msg.sender, amount), "Transfer failed");
    }

    function pauseCampaign(bytes32 campaignId) external onlyAdvertiser(campaignId) {
        campaigns[campaignId].active = false;
    }

    function resumeCampaign(bytes32 campaignId) external onlyAdvertiser(campaignId) {
        campaigns[campaignId].active = true;
    }

    // --- the exchange ---

    function reserveBudget(
        bytes32 reservationId,
        bytes32 campaignId,
        address publisher,
        uint256 amount,
        uint256 ttl
    ) external onlyExchange {
        require(ttl <= MAX_TTL, "TTL too long");
        require(amount > 0, "Amount must be positive");
        require(reservations[reservationId].amount == 0, "Reservation exists");
        Campaign storage c = campaigns[campaignId];
        require(c.active, "Campaign inactive");
        require(c.availableBudget >= amount, "Insufficient budget");
        c.availableBudget -= amount;
        c.reservedBudget += amount;
        reservations[reservationId] = Reservation(campaignId, publisher, amount, block.timestamp + ttl, false);
        emit ReservationCreated(reservationId, campaignId, publisher, amount);
    }

    /// @param verificationProof digest of what was delivered; kept in the transaction for whoever audits it
    function settleReceipt(bytes32 reservationId, bytes32 verificationProof) external onlyExchange {
        verificationProof;
        Reservation storage r = reservations[reservationId];
        require(r.amount > 0, "Reservation not found");
        require(!r.settled, "Already settled");
        require(block.timestamp <= r.expires, "Reservation expired");
        r.settled = true;
        Campaign storage c = campaigns[r.campaignId];
        c.reservedBudget -= r.amount;
        c.spentBudget += r.amount;
        _pay(reservationId, r.campaignId, r.publisher, r.amount, block.timestamp);
    }

    /// @notice Anybody may give an expired reservation back to its campaign; its id stays used.
    function releaseExpiredReservation(bytes32 reservationId) external {
        Reservation storage r = reservations[reservationId];
        require(r.amount > 0, "Reservation not found");
        require(!r.settled, "Already settled");
        require(block.timestamp > r.expires, "Not expired");
        r.settled = true;
        Campaign storage c = campaigns[r.campaignId];
        c.reservedBudget -= r.amount;
        c.availableBudget += r.amount;
    }

    /// @notice Spends `total` of a campaign on the impressions under a Merkle root, in one transaction however many they
    /// are. Leaves: keccak256(reservationId || publisher || amount); pairs are sorted.
    function settleBatch(bytes32 campaignId, bytes32 merkleRoot, uint256 total) external onlyExchange {
        require(total > 0, "Amount must be positive");
        require(batches[merkleRoot].settledAt == 0, "Batch exists");
        Campaign storage c = campaigns[campaignId];
        require(c.availableBudget >= total, "Insufficient budget");
        c.availableBudget -= total;
        c.spentBudget += total;
        batches[merkleRoot] = Batch(campaignId, total, block.timestamp);
        emit BatchSettled(campaignId, merkleRoot, total);
    }

    /// @notice Anybody may bring a leaf; its publisher is paid.
    function claimFromBatch(
        bytes32 merkleRoot,
        bytes32 reservationId,
        address publisher,
        uint256 amount,
        bytes32[] calldata proof
    ) external {
        Batch storage b = batches[merkleRoot];
        require(b.settledAt != 0, "Batch not found");
        require(amount > 0, "Amount must be positive");
        require(reservations[reservationId].amount == 0, "Already settled");
        bytes32 leaf = keccak256(abi.encodePacked(reservationId, publisher, amount));
        require(MerkleProof.verifyCalldata(proof, merkleRoot, leaf), "Not in batch");
        require(b.unclaimed >= amount, "Batch exhausted");
        b.unclaimed -= amount;
        reservations[reservationId] = Reservation(b.campaignId, publisher, amount, b.settledAt, true);
        _pay(reservationId, b.campaignId, publisher, amount, b.settledAt);
    }

    // --- publishers ---

    function withdrawPublisher() external nonReentrant {
        uint256 amount = publisherBalances[msg.sender];
        require(amount > 0, "No balance");
        publisherBalances[msg.sender] = 0;
        emit PublisherPayout(msg.sender, amount);
        require(AUSD.transfer(msg.sender, amount), "Transfer failed");
    }

    /// @notice Anybody may release a holdback whose time has come to its publisher's balance.
    function claimHoldback(bytes32 reservationId) external {
        Holdback memory h = holdbacks[reservationId];
        require(h.amount > 0, "No holdback");
        require(block.timestamp >= h.releaseTime, "Holdback locked");
        delete holdbacks[reservationId];
        publisherBalances[h.publisher] += h.amount;
    }

    /// @notice Within the 48 hours the owner may give a holdback back to its campaign.
    function revokeHoldback(bytes32 reservationId) external onlyOwner {
        Holdback memory h = holdbacks[reservationId];
        require(h.amount > 0, "No holdback");
        require(block.timestamp < h.releaseTime, "Holdback released");
        delete holdbacks[reservationId];
        Campaign storage c = campaigns[h.campaignId];
        c.spentBudget -= h.amount;
        c.availableBudget += h.amount;
        emit HoldbackRevoked(reservationId, h.campaignId, h.amount);
    }

    function getCampaign(bytes32 campaignId)
        external
        view
        returns (
            address advertiser,
            uint256 totalBudget,
            uint256 availableBudget,
            uint256 reservedBudget,
            uint256 spentBudget,
            bool active,
            uint16 holdbackBps
        )
    {
        Campaign storage c = campaigns[campaignId];
        return (
            c.advertiser,
            c.totalBudget,
            c.availableBudget,
            c.reservedBudget,
            c.spentBudget,
            c.active,
            c.holdbackBps
        );
    }

    /// Divides an amount: holdback, fee, and the rest at once. All three add up to it.
    function _pay(bytes32 reservationId, bytes32 campaignId, address publisher, uint256 amount, uint256 since) private {
        uint256 atOnce = (amount * (BPS - campaigns[campaignId].holdbackBps)) / BPS;
        uint256 fee = (amount * FEE_BPS) / BPS;
        if (amount > atOnce) {
            holdbacks[reservationId] = Holdback(campaignId, publisher, amount - atOnce, since + HOLDBACK_DELAY);
        }
        publisherBalances[publisher] += atOnce - fee;
        publisherBalances[feeRecipient] += fee;
        emit ReceiptSettled(reservationId, publisher, amount);
    }
}
