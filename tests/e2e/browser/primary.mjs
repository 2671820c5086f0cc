// Pages of the P- and X-Chain in a browser: two widths, two themes, keyboard, access, without scripts.
// usage: node primary.mjs ORIGIN sample|full [FOLDER FOR PICTURES]
import {readFileSync} from 'node:fs';
import {openBrowser, plainText, visit} from './browser.mjs';

const [origin, extent, shots] = process.argv.slice(2);
const {made, node, me} = JSON.parse(readFileSync(new URL('primary.json', import.meta.url)));
const browser = await openBrowser();
let passed = 0;
const failures = [];
const desk = {width: 1440, theme: 'light'};
const phone = {width: 390, theme: 'dark'};

async function see(name, path, sample, options) {
  const found = await visit(browser, `${origin}/explorer${path}`, {name, shots, ...(extent === 'full' ? {} : sample), ...options});
  if (found.length === 0) passed++;
  failures.push(...found);
  found.forEach((f) => console.log(f));
}

await see('p-home', '/P');
await see('x-home', '/X', phone);
await see('p-blocks', '/P/blocks', phone);
await see('p-block', '/P/block/5', desk);
await see('validators', '/P/validators', phone);
await see('validators-wide', '/P/validators', desk);
await see('validator', `/P/validator/${node}`, phone);
await see('networks', '/P/networks', phone);
await see('network', `/P/network/${made.net}`, phone);
await see('chain', `/P/chain/${made.chain}`, phone);
await see('assets', '/X/assets', phone);
await see('asset', `/X/asset/${made.coin}`, phone);
await see('address', `/P/address/P-${me}`, phone);
await see('address-wide', `/X/address/X-${me}`, desk);
await see('missing', '/P/tx/nothing', phone, {status: 404});
for (const [name, id] of Object.entries(made)) {
  const chain = ['x-', 'coin', 'mint', 'art', 'nft', 'waits'].some((x) => name.startsWith(x)) ? 'X' : name.startsWith('c-') ? 'C' : 'P';
  if (extent === 'full' || ['p-export-x', 'c-import-x', 'validator', 'convert', 'nft', 'waits'].includes(name)) {
    await see(`tx-${name}`, `/${chain}/tx/${id}`, phone);
  }
}
const plain = await plainText(browser, `${origin}/explorer/P/validator/${node}`);
if (plain.includes(node) && plain.includes('of the period gone')) passed++;
else failures.push('without scripts the validator is not shown');
await browser.close();
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
