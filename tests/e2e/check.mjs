// What the scripts of the clients share: one line a check, "ok NAME" or "FAIL NAME: reason".
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const LIMIT_MS = 30_000;
let failed = 0;

export async function check(name, body) {
    const start = performance.now();
    const late = new AbortController();
    try {
        const limit = sleep(LIMIT_MS, undefined, { signal: late.signal }).then(
            () => Promise.reject(new Error(`no answer in ${LIMIT_MS / 1000} s`)),
            () => undefined,
        );
        await Promise.race([body(), limit]);
        console.log(`ok ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
    } catch (e) {
        failed++;
        const at = e.stack?.match(/[a-z_]+\.mjs:\d+(?=:\d+\)?$)/m)?.[0] ?? "";
        console.log(`FAIL ${name}: ${String(e.message).split("\n").slice(0, 8).join(" ")} (${at})`);
    } finally {
        late.abort();
    }
}

/* {NAME: {abi, bytecode}} of contracts/*.sol. */
export const contracts = () => JSON.parse(readFileSync(new URL("contracts.json", import.meta.url), "utf8"));

/* until(probe) waits until probe() gives something true, and gives that. */
export async function until(probe, what) {
    for (let start = performance.now(); performance.now() - start < 10_000; await sleep(5)) {
        const got = await probe();
        if (got) {
            return got;
        }
    }
    throw new Error(`${what} did not come`);
}

export function finish() {
    process.exit(failed > 0 ? 1 : 0);
}
