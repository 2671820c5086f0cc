// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IMessenger, IReceiver} from "./IMessenger.sol";
import {Claim} from "./TokenHome.sol";

/// @title A token of another chain
/// @notice Mints what its home has locked, burns what goes back there, or by way of it to a remote on a third chain.
contract TokenRemote is ERC20, IReceiver {
    IMessenger public immutable messenger;
    bytes32 public immutable homeChain;
    address public immutable home;
    uint8 private immutable digits;

    event Burned(address indexed owner, address recipient, uint256 amount, bytes32 messageID);

    error NotTheMessenger();
    error NotTheHome(bytes32 chain, address sender);
    error Nothing();

    constructor(
        IMessenger messenger_,
        bytes32 homeChain_,
        address home_,
        string memory name_,
        string memory symbol_,
        uint8 decimals_
    ) ERC20(name_, symbol_) {
        messenger = messenger_;
        homeChain = homeChain_;
        home = home_;
        digits = decimals_;
    }

    function decimals() public view override returns (uint8) {
        return digits;
    }

    /// @notice Back to the home's chain; gasLimit is for the home, which pays out.
    function bridgeHome(address recipient, uint256 amount, uint256 gasLimit) external returns (bytes32 messageID) {
        return burnFor(Claim(recipient, amount, 0, address(0), 0), gasLimit);
    }

    /// @notice On to a remote of another chain, by way of the home; onwardGas is for that remote.
    function bridgeOn(
        bytes32 chain,
        address remote,
        address recipient,
        uint256 amount,
        uint256 gasLimit,
        uint256 onwardGas
    ) external returns (bytes32 messageID) {
        if (remote == address(0)) revert Nothing();
        return burnFor(Claim(recipient, amount, chain, remote, onwardGas), gasLimit);
    }

    function receiveTeleporterMessage(bytes32 chain, address sender, bytes calldata message) external {
        if (msg.sender != address(messenger)) revert NotTheMessenger();
        if (chain != homeChain || sender != home) revert NotTheHome(chain, sender);
        (address recipient, uint256 amount) = abi.decode(message, (address, uint256));
        _mint(recipient, amount);
    }

    function burnFor(Claim memory c, uint256 gasLimit) private returns (bytes32 messageID) {
        if (c.amount == 0 || c.recipient == address(0)) revert Nothing();
        _burn(msg.sender, c.amount);
        messageID = messenger.send(homeChain, home, gasLimit, abi.encode(c));
        emit Burned(msg.sender, c.recipient, c.amount, messageID);
    }
}
