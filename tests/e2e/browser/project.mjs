// What a Hardhat project deployed and did, on every page of the explorer, compared with JSON-RPC answers.
// usage: node project.mjs ORIGIN full [FOLDER FOR PICTURES]     (project.json: what scripts/explorer.cjs said)
import {readFileSync} from 'node:fs';
import {openBrowser, visit} from './browser.mjs';

const [origin, , shots] = process.argv.slice(2);
const did = JSON.parse(readFileSync(new URL('project.json', import.meta.url)));
const [alice, bob, carol] = did.accounts;
let passed = 0;
const failures = [];
const check = (found) => { if (found.length === 0) passed++; failures.push(...found); found.forEach((f) => console.log(f)); };
const at = (path, options) => visit(browser, `${origin}/explorer${path}`, {shots, ...options});

async function rpc(method, ...params) {
  const r = await fetch(origin, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({jsonrpc: '2.0', id: 1, method, params})});
  const {result, error} = await r.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}
const refs = {lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&'};
// What a person reads, without a browser, and all identifiers whole.
async function text(path) {
  const r = await fetch(`${origin}/explorer${path}`);
  const html = (await r.text()).replace(/^[^]*<main[^>]*>/, '');
  const whole = [...html.matchAll(/ data-h="([^"]*)"/g)].map((m) => m[1]).join(' ');
  return `${html.replace(/<[^>]*>/g, ' ').replace(/&(lt|gt|quot|#39|amp);/g, (_, x) => refs[x]).replace(/\s+/g, ' ')} ${whole}`;
}
const count = (n) => BigInt(n).toLocaleString('en-US');
const hex = (n) => '0x' + n.toString(16);
const units = (wei) => { const [a, b] = [BigInt(wei) / 10n ** 18n, String(BigInt(wei) % 10n ** 18n).padStart(18, '0').replace(/0+$/, '')]; return count(a) + (b ? `.${b}` : ''); };
const says = (page, what, facts) => facts.filter((f) => !page.includes(f)).map((f) => `${what}: no "${f}"`);

// Every block and every transaction.
const head = Number(await rpc('eth_blockNumber'));
for (let n = 0; n <= head; n++) {
  const b = await rpc('eth_getBlockByNumber', hex(n), true);
  const page = await text(`/block/C/${n}`);
  check(says(page, `block ${n}`, [`Block ${count(n)}`, b.hash, count(b.gasUsed), count(b.gasLimit), b.stateRoot, ...b.transactions.map((t) => t.hash)]));
  for (const tx of b.transactions) {
    const r = await rpc('eth_getTransactionReceipt', tx.hash);
    const shown = await text(`/tx/${tx.hash}`);
    const fee = BigInt(r.gasUsed) * BigInt(r.effectiveGasPrice);
    check(says(shown, `tx ${tx.hash}`, [r.status === '0x1' ? 'Success' : 'Reverted', tx.from, r.to ?? r.contractAddress, count(r.gasUsed), `${units(fee)} LUX`, `${units(tx.value)} LUX`,
      ...r.logs.flatMap((l) => [l.address])]));
    const diff = await rpc('debug_traceTransaction', tx.hash, {tracer: 'prestateTracer', tracerConfig: {diffMode: true}});
    const state = await text(`/tx/${tx.hash}?view=state`);
    check(says(state, `state ${tx.hash}`, Object.keys(diff.post)));
  }
}
// What they did, in words.
const words = {
  transfer: ['sent 1,250.00 LMN to'], transferFrom: ['transferFrom', '0.50 LMN'], approve: ['approve', 'Approval', '∞'], award: ['minted #1 BDG'],
  single: ['7 × #1'], batch: ['3 × #1', '1 × #2'], light: ['0.1 LUX'], seven: ['seven is not allowed'], panic: ['arithmetic underflow or overflow'],
  poor: ['ERC20InsufficientBalance'], forward: ['0.25 LUX', carol],
};
for (const [name, facts] of Object.entries(words)) check(says(await text(`/tx/${did.txs[name]}`), name, facts));

// Accounts: balance, transactions, tokens, value inside, holdings.
for (const who of did.accounts) {
  const wei = await rpc('eth_getBalance', who, 'latest');
  check(says(await text(`/address/${who}`), who, [`${count(wei)} wei`, count(await rpc('eth_getTransactionCount', who, 'latest'))]));
}
check(says(await text(`/address/${alice}`), 'txs of alice', [did.txs.forward, did.txs.transfer]));
check(says(await text(`/address/${bob}?tab=tokens`), 'tokens of bob', [did.txs.transfer, did.txs.award, did.txs.single, '1,250.00 LMN', '7 × #1']));
check(says(await text(`/address/${carol}?tab=internal`), 'inside, to carol', [did.txs.forward, '0.25 LUX']));
check(says(await text(`/address/${carol}?tab=holdings`), 'holdings of carol', ['0.50 LMN', '#2 BDG', '3 × #1', '1 × #2']));
check(says(await text(`/address/${did.lumen}`), 'creation', ['Created by', alice]));
// Tokens.
check(says(await text('/tokens'), 'tokens', ['Lumen', 'Badge', 'ERC-20', 'ERC-721', 'ERC-1155', did.lamps]));
check(says(await text(`/token/${did.lumen}?tab=holders`), 'holders', ['5,000.00 LMN', '1,250.00 LMN', '25.00', '0.50 LMN', ...did.accounts]));
check(says(await text(`/token/${did.badge}?tab=ids`), 'ids', ['#1', '#2', bob, carol]));
check(says(await text(`/token/${did.lamps}`), 'lamps', [did.txs.batch, '3 × #1']));
check(says(await text(`/token/${did.lamps}?tab=ids`), 'ids of lamps', ['https://lamps.example/{id}.json']));
// In the same second as the block: asked for at once.
const data = '0x' + bob.slice(2).padStart(64, '0');
const now = await rpc('eth_sendTransaction', {from: alice, to: did.forwarder, data, value: '0x3', gas: '0x30d40'});
check(says(await text(`/address/${bob}?tab=internal`), 'inside, at once', [now]));

const browser = await openBrowser();
for (const [name, path] of Object.entries({
  'project-nft': `/token/${did.badge}?tab=ids`, 'project-1155': `/token/${did.lamps}?tab=holders`, 'project-token': `/token/${did.lumen}`, 'project-batch': `/tx/${did.txs.batch}`,
  'project-panic': `/tx/${did.txs.panic}`, 'project-inside': `/address/${carol}?tab=internal`, 'project-held': `/address/${carol}?tab=holdings`, 'project-moves': `/address/${bob}?tab=tokens`,
})) check(await at(path, {name}));
check(await at(`/contract/${did.lamp}`, {name: 'project-abi', width: 1440, theme: 'light', then: async (page, say) => {
  await page.locator('textarea[name=abi]').fill(did.abi);
  await Promise.all([page.waitForEvent('load'), page.locator('form[data-abi] button').click()]);
  const main = (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ');
  for (const fact of ['much 42', 'lastBy', 'context', 'smash', 'in the ABI']) if (!main.includes(fact)) say(`no ${fact}: ${main}`);
  const form = page.locator('details.fn', {has: page.locator('summary bdi:text-is("light")')});
  await form.locator('summary').click();
  await form.locator('[name$=a0]').fill('7');
  await Promise.all([page.waitForEvent('load'), form.locator('button').click()]);
  if (!(await page.locator('#answer').innerText()).includes('seven is not allowed')) say('the reason is not shown');
}}));
await browser.close();
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
