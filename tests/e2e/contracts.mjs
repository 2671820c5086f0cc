// Compiles the contracts of a folder below ROOT with solc-js; imports are from ROOT's other folders, and of OpenZeppelin from node_modules.
//
//   node contracts.mjs ROOT FOLDER FILE     writes {compiler, contracts: {NAME: {abi, bytecode, runtime}}} of those that have code
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import solc from "solc";

const require = createRequire(import.meta.url);
const [root, folder, file] = process.argv.slice(2);

function load(path) {
    try {
        const own = `${root}/${path}`;
        return { contents: readFileSync(existsSync(own) ? own : require.resolve(path), "utf8") };
    } catch (e) {
        return { error: e.message };
    }
}

const names = readdirSync(`${root}/${folder}`).filter((n) => n.endsWith(".sol")).sort().map((n) => `${folder}/${n}`);
const input = {
    language: "Solidity",
    sources: Object.fromEntries(names.map((n) => [n, { content: readFileSync(`${root}/${n}`, "utf8") }])),
    settings: {
        evmVersion: "shanghai", // what an L1 has whose Warp is on
        metadata: { bytecodeHash: "none" },
        optimizer: { enabled: true, runs: 1000 },
        outputSelection: { "*": { "*": ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"] } },
    },
};
const out = JSON.parse(solc.compile(JSON.stringify(input), { import: load }));
const errors = (out.errors ?? []).filter((e) => e.severity === "error");
if (errors.length > 0) {
    throw new Error(errors.map((e) => e.formattedMessage).join("\n"));
}
const made = {};
for (const n of names) {
    for (const [name, c] of Object.entries(out.contracts[n] ?? {})) {
        if (c.evm.bytecode.object !== "") {
            const runtime = c.evm.deployedBytecode.object;
            made[name] = { abi: c.abi, bytecode: "0x" + c.evm.bytecode.object, runtime: "0x" + runtime };
        }
    }
}
writeFileSync(file, JSON.stringify({ compiler: solc.version(), contracts: made }, null, 1) + "\n");
