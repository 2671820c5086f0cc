// Key files with ethers: makes one in a folder, or opens one that somebody else made.
//
//   node keyfiles.mjs make DIR KEY PASSWORD      writes DIR/ethers.json
//   node keyfiles.mjs open FILE PASSWORD         prints the key
import { readFileSync, writeFileSync } from "node:fs";
import { Wallet } from "ethers";

const [what, path, ...rest] = process.argv.slice(2);
if (what === "make") {
    const [key, password] = rest;
    writeFileSync(`${path}/ethers.json`, await new Wallet(key).encrypt(password));
    console.log(`ok ethers writes a key file`);
} else {
    const wallet = await Wallet.fromEncryptedJson(readFileSync(path, "utf8"), rest[0]);
    console.log(wallet.privateKey);
}
