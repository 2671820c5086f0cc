// Of a node of Hardhat's own, which compiles nothing.
module.exports = { solidity: "0.8.30" };
