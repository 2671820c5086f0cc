// The page that checks finality, with good and tampered files, as one file from a server and from a disk.
// usage: node finality.mjs ORIGIN sample|full [FOLDER FOR PICTURES]
import {mkdtempSync, readFileSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {openBrowser, visit} from './browser.mjs';

const [origin, extent, shots] = process.argv.slice(2);
const facts = JSON.parse(readFileSync('finality.json', 'utf8'));
const file = (name) => join(facts.folder, name), read = (name) => readFileSync(file(name));
const scratch = mkdtempSync(join(tmpdir(), 'finality-'));
const browser = await openBrowser();
let passed = 0;
const failures = [];
const check = (found) => { if (found.length === 0) passed++; failures.push(...found); found.forEach((f) => console.log(f)); };

// Gives the page these files and what it says of them.
async function ask(page, {checkpoint = file('network.checkpoint'), certificate, changes, chain = 'C'}) {
  await page.setInputFiles('#checkpoint-file', checkpoint);
  await page.setInputFiles('#certificate-file', certificate);
  await page.setInputFiles('#changes-file', changes ?? []);
  await page.fill('#chain', chain);
  await page.locator('#ask button').click();
  return answer(page);
}
async function answer(page) {
  await page.locator('#verdict:not([data-state=busy])').waitFor({timeout: 60000});
  return page.locator('#verdict').evaluate((x) => ({...x.dataset, title: x.querySelector('h2').textContent, why: x.querySelector('p').textContent}));
}
function changed(name, at, by = 1) {
  const b = Buffer.from(read(name));
  b[at] ^= by;
  const path = join(scratch, `changed-${name}`);
  writeFileSync(path, b);
  return path;
}
const flip = (hex, at) => hex.slice(0, at) + (hex[at] === '0' ? '1' : '0') + hex.slice(at + 1);
const is = (say, got, state, text = '') => { if (got.state !== state || !(got.title + got.why).includes(text)) say(`${JSON.stringify(got)}, not ${state} ${text}`); };

check(await visit(browser, origin, {name: 'finality', meta: true, shots, then: async (page, say) => {
  is(say, await ask(page, {certificate: file('type2.cert')}), 'final', 'nothing of it was sent');
  if (!(await page.locator('#says').innerText()).includes(facts.hash)) say('the block is not told');
}}));

const context = await browser.newContext();
const page = await context.newPage();
const found = [];
page.on('pageerror', (e) => found.push(`script: ${e.message}`));
page.on('console', (m) => m.type() === 'error' && found.push(`console: ${m.text()}`));
await page.goto(origin);
const say = (text) => found.push(text);

// every kind, and years
for (const [type, state] of [[0, 'bls-final'], [1, 'threshold'], [2, 'final'], [3, 'final']]) is(say, await ask(page, {certificate: file(`type${type}.cert`)}), state);
is(say, await ask(page, {certificate: file('last.cert')}), 'refused', 'The certificate');
const year = await ask(page, {certificate: file('last.cert'), changes: file('year.changes')});
is(say, year, 'final');
is(say, await ask(page, {certificate: file('last.cert'), changes: file('day.changes')}), 'bls-final', 'quantum computer');

// each signature in the time that it may take
const quickest = async (name) => { let ms = Infinity; for (let i = 0; i < 5; i++) ms = Math.min(ms, Number((await ask(page, {certificate: file(name)})).verify)); return ms; };
const bls = await quickest('type0.cert'), threshold = await quickest('type1.cert');
console.log(`BLS ${bls.toFixed(1)} ms, threshold ${threshold.toFixed(1)} ms, a year ${Number(year.all).toFixed(0)} ms, page ${gzipSync(await (await fetch(origin)).arrayBuffer(), {level: 9}).length} bytes compressed`);
if (gzipSync(await (await fetch(origin)).arrayBuffer(), {level: 9}).length > 500000) say('the page is larger than it may be');

// tampered: bits all over, other chains, other files
const many = extent === 'full' ? 400 : 40;
for (const name of ['type2.cert', 'type3.cert']) {
  for (let i = 0; i < many; i++) {
    const at = i < many / 2 ? i * 5 : Math.floor(read(name).length * i / many);
    is(say, await ask(page, {certificate: changed(name, at, 1 << i % 8)}), 'refused');
  }
}
is(say, await ask(page, {certificate: file('type2.cert'), chain: 'X'}), 'refused', 'chain');
is(say, await ask(page, {certificate: file('type2.cert'), chain: 'nowhere'}), 'error', 'Chain');
is(say, await ask(page, {certificate: file('type2.cert'), checkpoint: changed('network.checkpoint', 5000)}), 'refused', 'sum');
is(say, await ask(page, {certificate: file('last.cert'), changes: changed('year.changes', 300)}), 'refused', 'set changes');
is(say, await ask(page, {certificate: file('network.checkpoint')}), 'refused');
is(say, await ask(page, {certificate: file('type2.cert'), checkpoint: file('type2.cert')}), 'refused', 'no checkpoint');
check(found.splice(0));

// from a node, which is asked for no more than it has to know; and one that lies
await page.goto(origin);
await page.setInputFiles('#checkpoint-file', file('network.checkpoint'));
await page.fill('#node', origin);
await page.fill('#height', '1');
await page.locator('#fetch button').click();
await page.locator('#verdict[data-state=final]').waitFor({timeout: 60000}).catch(async () => say(JSON.stringify(await answer(page))));
if (!(await answer(page)).why.includes('the node’s word')) say('nothing is said of the height');
await page.fill('#height', facts.hash);
await page.locator('#fetch button').click();
await page.locator('#verdict[data-state=final]').waitFor({timeout: 60000}).catch(async () => say(JSON.stringify(await answer(page))));
await page.fill('#height', flip(facts.hash, 9));
await page.locator('#fetch button').click();
await page.locator('#why:has-text("another block")').waitFor({timeout: 60000}).catch(async () => say(JSON.stringify(await answer(page))));
await page.route('**/v1/info', async (route) => {
  const r = await route.fetch(), text = await r.text();
  await route.fulfill({response: r, body: text.replace(/(.{3000})(.)/, (_, a, b) => a + (b === '0' ? '1' : '0'))});
});
await page.locator('#fetch button').click();
await page.locator('#verdict[data-state=refused]').waitFor({timeout: 60000}).catch(async () => say(JSON.stringify(await answer(page))));
check(found.splice(0));

// proofs: of accounts, of one that is not there, of storage, of a receipt
await page.goto(origin);
const prove = async (block, proof) => {
  await page.locator('#facts').evaluate((x) => { x.dataset.state = ''; });
  await page.fill('#block', block);
  await page.fill('#proof', JSON.stringify(proof));
  await page.locator('#proofs button').click();
  await page.locator('#facts[data-state=good], #facts[data-state=refused]').waitFor();
  return page.locator('#facts').evaluate((x) => ({state: x.dataset.state, text: x.innerText.replaceAll('\n', ' ')}));
};
const rlpBytes = (hex) => { const b = Buffer.from(hex.slice(2), 'hex'), n = b.length; return b.length === 1 && b[0] < 128 ? b : Buffer.concat([n < 56 ? Buffer.of(0x80 + n) : n < 256 ? Buffer.of(0xb8, n) : Buffer.of(0xb9, n >> 8, n & 255), b]); };
const rlpList = (...items) => { const b = Buffer.concat(items), n = b.length; return '0x' + Buffer.concat([n < 56 ? Buffer.of(0xc0 + n) : n < 256 ? Buffer.of(0xf8, n) : Buffer.of(0xf9, n >> 8, n & 255), b]).toString('hex'); };
const receipt = {index: facts.index, receiptProof: [rlpList(rlpBytes('0x2080'), rlpBytes(facts.receiptRaw[0]))]};
const edit = (o, change) => { const c = structuredClone(o); change(c); return c; };
const wants = async (state, text, block, proof) => { const got = await prove(block, proof); if (got.state !== state || !got.text.includes(text)) say(`${JSON.stringify(got)}, not ${state} ${text}`); };
await wants('refused', 'final first', facts.header, facts.account);
is(say, await ask(page, {certificate: file('type2.cert')}), 'final');
const balance = BigInt(facts.account.balance).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ',');
for (const block of [facts.header, facts.block]) await wants('good', balance, block, facts.account);
await wants('good', '0x2a', facts.header, facts.contract);
await wants('good', 'No', facts.header, facts.nobody);
await wants('good', 'Success', facts.header, receipt);
await wants('refused', 'not the one of the certificate', flip(facts.header, 100), facts.account);
await wants('refused', 'balance', facts.header, edit(facts.account, (p) => { p.balance = '0x1'; }));
await wants('refused', 'node of the proof', facts.header, edit(facts.account, (p) => { p.accountProof[0] = flip(p.accountProof[0], 60); }));
await wants('refused', 'too early', facts.header, edit(facts.account, (p) => { p.accountProof.pop(); }));
await wants('refused', '', facts.header, edit(facts.account, (p) => { p.address = facts.nobody.address; }));
await wants('refused', 'storage 0x0', facts.header, edit(facts.contract, (p) => { p.storageProof[0].value = '0x2b'; }));
await wants('refused', '', facts.header, edit(receipt, (p) => { p.index = '0x1'; p.receiptProof.push(p.receiptProof[0]); }));
await wants('refused', 'node of the proof', facts.header, edit(receipt, (p) => { p.receiptProof[0] = flip(p.receiptProof[0], 200); }));
check(found.splice(0));

// the block of a proposer around it: its ID is the one that is signed
is(say, await ask(page, {checkpoint: join(facts.outer, 'network.checkpoint'), certificate: join(facts.outer, 'type3.cert')}), 'final');
await wants('good', balance, facts.wrapped, facts.account);
await wants('refused', 'not the one of the certificate', flip(facts.wrapped, 40), facts.account);
await wants('refused', 'not the one of the certificate', facts.block, facts.account);
await wants('refused', 'ends too early', facts.wrapped.slice(0, -2), facts.account);
// and as the original makes them
for (const b of facts.proposers) {
  const got = await page.evaluate((hex) => { const w = unwrap(fromHex(hex, 'Block')); return [toHex(w.id), toHex(w.inner)]; }, b.hex);
  if (got[0] !== `0x${b.id}` || got[1] !== `0x${b.inner}`) say(`proposer's block ${b.name}: ${got}`);
}
check(found.splice(0));

// from a disk, with no network at all
writeFileSync(join(scratch, 'finality.html'), Buffer.from(await (await fetch(origin)).arrayBuffer()));
await context.setOffline(true);
await page.goto(`file://${join(scratch, 'finality.html')}`);
is(say, await ask(page, {certificate: file('type3.cert')}), 'final');
check(found.splice(0));

await browser.close();
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
