// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IMessenger, IReceiver} from "./IMessenger.sol";

/// @notice What a remote asks its home for: pay out here, or, with a remote named, on that one's chain.
struct Claim {
    address recipient;
    uint256 amount;
    bytes32 onwardChain;
    address onwardRemote;
    uint256 onwardGas;
}

/// @title Where a token comes from
/// @notice Locks an ERC-20 and has remotes on other chains mint as much of their own. A remote can claim at most what was
/// sent to it: whoever makes a bad one can take nothing but what people have brought to it. So none need be registered.
contract TokenHome is IReceiver {
    using SafeERC20 for IERC20;

    IMessenger public immutable messenger;
    IERC20 public immutable token;
    mapping(bytes32 chain => mapping(address remote => uint256)) public held;

    event Locked(bytes32 indexed chain, address indexed remote, address recipient, uint256 amount, bytes32 messageID);
    event Released(bytes32 indexed chain, address indexed remote, address recipient, uint256 amount);

    error NotTheMessenger();
    error Nothing();
    error NotHeld(uint256 amount, uint256 held);

    constructor(IMessenger messenger_, IERC20 token_) {
        messenger = messenger_;
        token = token_;
    }

    /// @notice Locks the caller's tokens (approved before) for recipient on the remote's chain.
    function bridge(bytes32 chain, address remote, address recipient, uint256 amount, uint256 gasLimit)
        external
        returns (bytes32 messageID)
    {
        uint256 before = token.balanceOf(address(this));
        token.safeTransferFrom(msg.sender, address(this), amount);
        // What came counts: some tokens take a fee.
        return pass(chain, remote, recipient, token.balanceOf(address(this)) - before, gasLimit);
    }

    function receiveTeleporterMessage(bytes32 chain, address remote, bytes calldata message) external {
        if (msg.sender != address(messenger)) revert NotTheMessenger();
        Claim memory c = abi.decode(message, (Claim));
        uint256 most = held[chain][remote];
        if (c.amount > most) revert NotHeld(c.amount, most);
        held[chain][remote] = most - c.amount;
        if (c.onwardRemote != address(0)) {
            pass(c.onwardChain, c.onwardRemote, c.recipient, c.amount, c.onwardGas);
        } else {
            emit Released(chain, remote, c.recipient, c.amount);
            token.safeTransfer(c.recipient, c.amount);
        }
    }

    function pass(bytes32 chain, address remote, address recipient, uint256 amount, uint256 gasLimit)
        private
        returns (bytes32 messageID)
    {
        if (amount == 0 || recipient == address(0)) revert Nothing();
        held[chain][remote] += amount;
        messageID = messenger.send(chain, remote, gasLimit, abi.encode(recipient, amount));
        emit Locked(chain, remote, recipient, amount, messageID);
    }
}
