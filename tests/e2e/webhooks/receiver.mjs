// Receivers in Node: judges recorded deliveries. Reads {"kind", "secret", "deliveries": [{"headers", "body", "late"}]} and
// prints a line for each: "ok" or why it is refused. kind: standard (the package), b or c (plain HMAC).
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const { kind, secret, deliveries } = JSON.parse(readFileSync(0, "utf8"));
const now = Date.now;

const same = (a, b) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

function plain(headers, body) {
    const given = headers["x-svc-signature"] ?? "";
    if (kind === "c") {
        return same(given, "sha256=" + createHmac("sha256", secret).update(body).digest("hex"));
    }
    const at = headers["x-svc-timestamp"];
    const fresh = /^\d+$/.test(at) && Math.abs(Date.now() / 1000 - Number(at)) <= 300;
    return fresh && same(given, createHmac("sha256", secret).update(`${at}.${body}`).digest("hex"));
}

for (const { headers, body, late } of deliveries) {
    Date.now = () => now() + (late ? 301_000 : 0);
    try {
        const good = kind === "standard" ? new Webhook(secret).verify(body, headers) !== undefined : plain(headers, body);
        console.log(good ? "ok" : "refused: signature or time");
    } catch (e) {
        console.log(`refused: ${e.message}`);
    }
}
