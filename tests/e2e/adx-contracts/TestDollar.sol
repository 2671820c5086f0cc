// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// A dollar of six decimals for tests; it can be told to refuse transfers, and to call somebody in the middle of one.
contract TestDollar is ERC20 {
    bool public refuses;
    address public victim;
    bytes public call;

    constructor() ERC20("Test Dollar", "AUSD") {
        _mint(msg.sender, 1e15);
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function refuse(bool yes) external {
        refuses = yes;
    }

    function reenter(address victim_, bytes calldata call_) external {
        victim = victim_;
        call = call_;
    }

    function transfer(address to, uint256 value) public override returns (bool) {
        if (victim != address(0)) {
            (bool ok, bytes memory said) = victim.call(call);
            if (!ok) {
                assembly {
                    revert(add(said, 32), mload(said))
                }
            }
        }
        return refuses ? false : super.transfer(to, value);
    }

    function transferFrom(address from, address to, uint256 value) public override returns (bool) {
        return refuses ? false : super.transferFrom(from, to, value);
    }
}
