// Compiles contracts/NAME.sol with solc-js, OpenZeppelin from node_modules, and gives {abi, bytecode}.
//
//   node compile.mjs FILE NAME...     writes {NAME: {abi, bytecode}} into FILE
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import solc from "solc";

const require = createRequire(import.meta.url);

function load(path) {
    try {
        return { contents: readFileSync(require.resolve(path), "utf8") };
    } catch (e) {
        return { error: e.message };
    }
}

export function compile(...names) {
    const source = (name) =>
        readFileSync(fileURLToPath(new URL(`contracts/${name}.sol`, import.meta.url)), "utf8");
    const input = {
        language: "Solidity",
        sources: Object.fromEntries(names.map((n) => [`${n}.sol`, { content: source(n) }])),
        settings: {
            optimizer: { enabled: true },
            outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
        },
    };
    const out = JSON.parse(solc.compile(JSON.stringify(input), { import: load }));
    const errors = (out.errors ?? []).filter((e) => e.severity === "error");
    if (errors.length > 0) {
        throw new Error(errors.map((e) => e.formattedMessage).join("\n"));
    }
    return names.map((n) => {
        const c = out.contracts[`${n}.sol`][n];
        return { abi: c.abi, bytecode: "0x" + c.evm.bytecode.object };
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const [file, ...names] = process.argv.slice(2);
    writeFileSync(file, JSON.stringify(Object.fromEntries(compile(...names).map((c, i) => [names[i], c]))));
}
