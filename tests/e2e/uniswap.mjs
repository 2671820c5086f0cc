// Compiles Uniswap V2 from its npm sources with the npm compilers they are written for, as they were published: the byte
// code must be the published one, whose hash the router knows.
//
//   node uniswap.mjs OUT.json
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { posix } from "node:path";

const require = createRequire(import.meta.url);
const settings = {
    evmVersion: "istanbul",
    optimizer: { enabled: true, runs: 999999 },
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
};

/* Collects a source and what it imports by the names that the compiler gives them. */
function gather(sources, name, file) {
    if (sources[name] !== undefined) {
        return;
    }
    const content = readFileSync(new URL(file, import.meta.url), "utf8");
    sources[name] = { content };
    for (const [, target] of content.matchAll(/^import\s+(?:[^'"]*from\s+)?['"]([^'"]+)['"]/gm)) {
        const beside = target.startsWith(".");
        gather(
            sources,
            beside ? posix.join(posix.dirname(name), target) : target,
            beside ? posix.join(posix.dirname(file), target) : `node_modules/${target}`,
        );
    }
}

function compile(compiler, folder, path) {
    const sources = {};
    const contract = posix.basename(path, ".sol");
    gather(sources, `contracts/${path}`, `node_modules/${folder}/contracts/${path}`);
    const input = { language: "Solidity", sources, settings };
    const output = JSON.parse(require(compiler).compile(JSON.stringify(input)));
    const found = output.contracts?.[`contracts/${path}`]?.[contract];
    assert.ok(found, output.errors?.map((e) => e.formattedMessage).join("\n"));
    const published = require(`${folder}/build/${contract}.json`).bytecode.replace(/^0x/, "");
    assert.equal(found.evm.bytecode.object, published, `${contract} is not as published`);
    return [contract, { abi: found.abi, bytecode: `0x${published}` }];
}

const all = Object.fromEntries([
    compile("solc-0.5", "@uniswap/v2-core", "UniswapV2Factory.sol"),
    compile("solc-0.5", "@uniswap/v2-core", "UniswapV2Pair.sol"),
    compile("solc-0.6", "@uniswap/v2-periphery", "test/WETH9.sol"),
    compile("solc-0.6", "@uniswap/v2-periphery", "UniswapV2Router02.sol"),
]);
writeFileSync(process.argv[2], JSON.stringify(all));
