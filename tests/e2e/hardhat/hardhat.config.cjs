// The compiler comes from npm by the lock file: nothing is downloaded.
require("@nomicfoundation/hardhat-ethers");
require("@nomicfoundation/hardhat-chai-matchers");
const { subtask } = require("hardhat/config");
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require("hardhat/builtin-tasks/task-names");

subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async ({ solcVersion }) => ({
    compilerPath: require.resolve("solc/soljson.js"),
    isSolcJs: true,
    version: solcVersion,
    longVersion: require("solc").version().replace(/\.Emscripten.*/, ""),
}));

module.exports = {
    solidity: { version: "0.8.30", settings: { evmVersion: "cancun", optimizer: { enabled: true } } },
    defaultNetwork: "candela",
    networks: { candela: { url: process.env.CANDELA_URL ?? "http://127.0.0.1:8545" } },
    mocha: process.env.REPORT && { reporter: "json", reporterOptions: { output: process.env.REPORT } },
};
