// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";

contract Badge is ERC721, Ownable {
    uint256 public next = 1;

    constructor() ERC721("Badge", "BDG") Ownable(msg.sender) {}

    function award(address to) external onlyOwner returns (uint256 id) {
        id = next++;
        _safeMint(to, id);
    }
}

contract Lamps is ERC1155 {
    constructor() ERC1155("https://lamps.example/{id}.json") {
        _mint(msg.sender, 1, 100, "");
        _mint(msg.sender, 2, 5, "");
    }
}

contract Shelf is ERC1155Holder {}
