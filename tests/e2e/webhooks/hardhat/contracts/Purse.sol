// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// Value that moves inside of transactions, in every way, and value that seems to.
contract Purse {
    error Empty();

    constructor() payable {}

    receive() external payable {}

    /// CALL
    function pay(address payable to, uint256 much) public payable {
        (bool ok,) = to.call{value: much}("");
        if (!ok) revert Empty();
    }

    /// A CALL below a CALL without value
    function deep(address payable to, uint256 much) external payable {
        this.pay(to, much);
    }

    /// CREATE and CREATE2 with value, and SELFDESTRUCT of what was made
    function make(address payable heir, bytes32 salt) external payable {
        Till one = new Till{value: 3}();
        Till two = new Till{value: 4, salt: salt}();
        one.close(heir);
        two.close(payable(address(this)));
    }

    /// CALL below DELEGATECALL; what DELEGATECALL itself carries is not moved
    function lend(Purse other, address payable to) external payable {
        (bool ok,) = address(other).delegatecall(abi.encodeCall(this.pay, (to, 5)));
        if (!ok) revert Empty();
    }

    /// Payments that do not last: one that fails, and one in a call that does
    function fail(address payable to) external payable {
        try this.bounce{value: 2}(to) {} catch {}
        (bool ok,) = to.call{value: 1}("");
        if (!ok) revert Empty();
    }

    function bounce(address payable to) external payable {
        pay(to, 6);
        revert Empty();
    }

    /// All of it in vain
    function vain(address payable to) external payable {
        pay(to, 1);
        revert Empty();
    }
}

contract Till {
    constructor() payable {}

    function close(address payable heir) external {
        selfdestruct(heir);
    }
}

/// Events of nought to four topics
contract Herald {
    event One(uint256 plain);
    event Two(uint256 indexed turn, bytes text);
    event Three(uint256 indexed turn, address indexed by);
    event Four(uint256 indexed turn, address indexed by, bytes32 indexed tag, string text);

    function cry(uint256 turn, bytes32 tag) external {
        assembly {
            mstore(0, turn)
            log0(0, 32)
        }
        emit One(turn);
        emit Two(turn, hex"00ff");
        emit Three(turn, msg.sender);
        emit Four(turn, msg.sender, tag, unicode"hear \u2713");
    }
}
