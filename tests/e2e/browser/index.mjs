// What an address took part in, in a browser, against JSON-RPC answers: each transaction is on the page that is asked for next.
// usage: node index.mjs ORIGIN sample|full [FOLDER FOR PICTURES]
import {readFileSync} from 'node:fs';
import {openBrowser, visit} from './browser.mjs';

const [origin, extent, shots] = process.argv.slice(2);
const {bytecode} = JSON.parse(readFileSync(new URL('contracts.json', import.meta.url))).Token;
const [FROM, TO] = ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'];
const FRESH = '0x00000000000000000000000000000000000fee17';
// [what][address][value][input]: 0 calls with value, 1 creates with init code. Topics and data of a log, as they come.
const DOER = '606036036060600037600035806001146034578060021460415760006000606036036000604035602035' +
  '5af150600314604657005b606036036000604035f050005b602035ff5b60006000fd';
const SAY4 = '608036036080600037606035604035602035600035608036036000a400';
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const SINGLE = 'c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62';
const BATCH = '4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb';
let passed = 0;
const failures = [];
const check = (found) => { if (found.length === 0) passed++; failures.push(...found); found.forEach((f) => console.log(f)); };
const one = extent === 'full' ? {} : {width: 390, theme: 'dark'};
const wide = extent === 'full' ? {} : {width: 1440, theme: 'light'};
const at = (path, options) => visit(browser, `${origin}/explorer${path}`, {shots, ...options});

async function rpc(method, ...params) {
  const r = await fetch(origin, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({jsonrpc: '2.0', id: 1, method, params})});
  const {result, error} = await r.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}
const word = (n) => BigInt(n).toString(16).padStart(64, '0');
const address = (a) => a.slice(2).padStart(64, '0');
const send = (tx) => rpc('eth_sendTransaction', {from: FROM, gas: '0x2dc6c0', ...tx});
const deploy = async (data) => (await rpc('eth_getTransactionReceipt', await send({data}))).contractAddress;
const init = (code) => '0x60' + (code.length / 2).toString(16).padStart(2, '0') + '8060093d393df3' + code;
const page = async (path) => (await fetch(`${origin}/explorer${path}`)).text();
const hashes = (html) => [...html.matchAll(/\/explorer\/tx\/(0x[0-9a-f]{64})/g)].map((m) => m[1]).filter((h, i, all) => all.indexOf(h) === i);

// Every transaction of an address, newest first, by a walk over all blocks.
async function walk(who) {
  const found = [];
  for (let n = Number(await rpc('eth_blockNumber')); n > 0; n--) {
    for (const t of (await rpc('eth_getBlockByNumber', '0x' + n.toString(16), true)).transactions.reverse()) {
      const made = t.to === null ? (await rpc('eth_getTransactionReceipt', t.hash)).contractAddress : null;
      if ([t.from, t.to, made].some((a) => a?.toLowerCase() === who.toLowerCase())) found.push(t.hash);
    }
  }
  return found;
}

const browser = await openBrowser();
const token = await deploy(bytecode + word(5000n * 10n ** 18n));
const doer = await deploy(init(DOER));
const nft = await deploy(init(SAY4));
const late = [];
const soon = async (hash, path) => { if (!hashes(await page(path)).includes(hash)) late.push(`${path}: ${hash} is not there yet`); return hash; };
for (let i = 1; i <= 30; i++) {
  await soon(await send({to: token, data: '0xa9059cbb' + address(TO) + word(BigInt(i) * 10n ** 18n)}), `/address/${TO}?tab=tokens`);
}
const inside = await soon(await send({to: doer, value: '0x1234', data: '0x' + word(0) + address(FRESH) + word(0x1000)}), `/address/${FRESH}?tab=internal`);
await soon(await send({to: nft, data: '0x' + TRANSFER + address(FROM) + address(TO) + word(7)}), `/address/${TO}?tab=tokens`);
const single = await soon(await send({to: nft, data: '0x' + SINGLE + address(FROM) + address(FROM) + address(TO) + word(12) + word(5)}), `/address/${TO}?tab=tokens`);
const batch = await soon(await send({to: nft, data: '0x' + BATCH + address(FROM) + address(FROM) + address(TO) +
  [64, 160, 2, 21, 22, 2, 3, 4].map(word).join('')}), `/address/${TO}?tab=tokens`);
await send({to: doer, data: '0x' + word(1) + word(0) + word(0) + init(SAY4).slice(2)});
check(late);

check(await at(`/address/${TO}?tab=tokens`, {name: 'tokens', ...wide, then: async (p, say) => {
  const main = await p.locator('main').innerText();
  for (const fact of ['#7', '5 × #12', '3 × #21', '4 × #22', '30.00 LMN']) if (!main.includes(fact)) say(`no ${fact}`);
  const logs = await rpc('eth_getLogs', {fromBlock: '0x1', toBlock: 'latest', topics: ['0x' + TRANSFER, null, '0x' + address(TO)]});
  let shown = 0;
  for (;;) {
    shown += await p.locator('tbody tr').count();
    if (await p.locator('a[rel=next]').count() === 0) break;
    await Promise.all([p.waitForNavigation(), p.locator('a[rel=next]').click()]);
  }
  if (shown !== logs.length + 3) say(`${shown} movements, not ${logs.length + 3}`); // and one, two by ERC-1155
}}));
check(await at(`/address/${TO}?tab=holdings`, {name: 'holdings', ...one, then: async (p, say) => {
  const has = BigInt(await rpc('eth_call', {to: token, data: '0x70a08231' + address(TO)}, 'latest')) / 10n ** 18n;
  if (!(await p.locator('main').innerText()).includes(`${has}.00 LMN`)) say(`not ${has} LMN`);
}}));
check(await at(`/address/${FRESH}?tab=internal`, {name: 'internal', ...one, then: async (p, say) => {
  const {calls} = await rpc('debug_traceTransaction', inside, {tracer: 'callTracer'});
  const rows = await p.locator('tbody tr').allInnerTexts();
  if (rows.length !== 1 || !rows[0].includes(calls[0].type.toLowerCase())) say(`rows: ${rows}`);
  if (!(await p.locator('tbody').innerHTML()).includes(inside)) say('another transaction');
}}));
check(await at(`/tx/${batch}`, {name: 'batch', ...wide, then: async (p, say) => {
  const main = await p.locator('main').innerText();
  for (const fact of ['3 × #21', '4 × #22']) if (!main.includes(fact)) say(`no ${fact}`);
}}));
check(await at(`/address/${nft}`, {name: 'created', ...one, then: async (p, say) => {
  const made = (await walk(nft)).at(-1);
  const main = await p.locator('main').innerHTML();
  if (!main.includes('Created by') || !main.includes(made)) say('nothing says who created it');
}}));
check(await at(`/address/${FROM}`, {name: 'transactions', ...wide, then: async (p, say) => {
  const want = await walk(FROM);
  const got = [];
  for (;;) {
    got.push(...hashes(await p.content()));
    if (await p.locator('a[rel=next]').count() === 0) break;
    await Promise.all([p.waitForNavigation(), p.locator('a[rel=next]').click()]);
  }
  if (JSON.stringify(got) !== JSON.stringify(want)) say(`${got.length} transactions, not the ${want.length} of the blocks`);
}}));
// Back in time: what was taken back is on no page, and what came before still is.
const before = await rpc('evm_snapshot');
const undone = await send({to: doer, value: '0x99', data: '0x' + word(0) + address(FRESH) + word(0x99)});
await rpc('evm_revert', before);
const now = hashes(await page(`/address/${FRESH}?tab=internal`));
check(now.includes(undone) || !now.includes(inside) ? [`after evm_revert: ${now}`] : []);
// What hostile addresses lead to is harmless.
for (const query of ['before=99999999999999999999.1.1.1', 'before=1.1', 'tab=%3Cscript%3E', 'tab=holdings&after=0xzz', 'before=0.0.0.0&tab=internal']) {
  const r = await fetch(`${origin}/explorer/address/${TO}?${query}`);
  check(r.status === 200 && !(await r.text()).includes('<script>') ? [] : [`?${query}: ${r.status}`]);
}
await rpc('hardhat_mine', '0x186a0');
check(await at('', {name: 'many-blocks', ...wide, then: async (p, say) => {
  const wire = await p.evaluate(() => performance.getEntriesByType('navigation')[0].transferSize);
  if (wire > 60000) say(`${wire} bytes`);
}}));
if (!(await page(`/tx/${single}`)).includes('×')) failures.push('no amount of an ERC-1155');
await browser.close();
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
