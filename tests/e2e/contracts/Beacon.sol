// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// Logs of every shape, and every way in which a call can fail.
contract Beacon {
    event Dark();
    event Flash(address indexed by, uint256 indexed turn, bytes32 indexed tag, string text);

    error TooBright(uint256 asked, uint256 most);

    uint256 public turns;

    function blink(uint256 times) external {
        for (uint256 i = 0; i < times; i++) {
            emit Flash(msg.sender, turns, keccak256(abi.encode(turns)), "on");
            emit Dark();
            turns++;
        }
    }

    function shine(uint256 much) external pure returns (uint256) {
        if (much == 7) revert("seven is not allowed");
        if (much > 100) revert TooBright(much, 100);
        return 100 / much;
    }

    function context() external view returns (uint256 number, uint256 chain, uint256 fee, uint256 random) {
        return (block.number, block.chainid, block.basefee, block.prevrandao);
    }
}
