// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

contract Item is ERC721 {
    constructor() ERC721("Item", "ITM") {}

    function mint(address to, uint256 id) external {
        _mint(to, id);
    }
}
