// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

contract Bag is ERC1155 {
    constructor() ERC1155("https://bag.example/{id}") {}

    function fill(address to, uint256[] calldata ids, uint256[] calldata counts) external {
        _mintBatch(to, ids, counts, "");
    }
}
