// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

/// A coin with a symbol that cannot be shown as it is.
contract Coin is ERC20 {
    constructor() ERC20("Coin", unicode"C\u00f8\u0007IN\u2713") {
        _mint(msg.sender, 1_000_000);
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address to, uint256 much) external {
        _mint(to, much);
    }

    function burn(uint256 much) external {
        _burn(msg.sender, much);
    }
}

/// Moves value as a token does, and says nothing of itself; once it emits what is almost a transfer.
contract Mute {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function move(address to, uint256 much) external {
        emit Transfer(msg.sender, to, much);
        bytes32 signature = Transfer.selector;
        assembly {
            mstore(0, much)
            log2(0, 32, signature, to)
        }
    }
}

/// Says its symbol in the way of the first tokens.
contract Old is Mute {
    bytes32 public constant symbol = "OLD";
    uint8 public constant decimals = 0;
}

contract Relic is ERC721 {
    constructor() ERC721("Relic", "RLC") {}

    function mint(address to, uint256 id) external {
        _safeMint(to, id);
    }

    function burn(uint256 id) external {
        _burn(id);
    }

    function _baseURI() internal pure override returns (string memory) {
        return "ipfs://relic/";
    }
}

contract Crate is ERC1155 {
    constructor() ERC1155("https://crate.example/{id}.json") {}

    function mint(address to, uint256 id, uint256 count) external {
        _mint(to, id, count, "");
    }

    function mintBatch(address to, uint256[] calldata ids, uint256[] calldata counts) external {
        _mintBatch(to, ids, counts, "");
    }

    function burn(uint256 id, uint256 count) external {
        _burn(msg.sender, id, count);
    }

    function burnBatch(uint256[] calldata ids, uint256[] calldata counts) external {
        _burnBatch(msg.sender, ids, counts);
    }
}
