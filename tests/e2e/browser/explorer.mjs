// The explorer of a development node in a browser; what its pages say is compared with JSON-RPC answers.
// usage: node explorer.mjs ORIGIN sample|full [FOLDER FOR PICTURES]
import {readFileSync} from 'node:fs';
import net from 'node:net';
import {openBrowser, plainText, visit} from './browser.mjs';

const [origin, extent, shots] = process.argv.slice(2);
const {bytecode} = JSON.parse(readFileSync(new URL('contracts.json', import.meta.url))).Token;
const [FROM, TO] = ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'];
let passed = 0;
const failures = [];
const check = (found) => { if (found.length === 0) passed++; failures.push(...found); found.forEach((f) => console.log(f)); };
const at = (path, options) => visit(browser, `${origin}/explorer${path}`, {shots, apart: true, ...options});

async function rpc(method, ...params) {
  const r = await fetch(origin, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({jsonrpc: '2.0', id: 1, method, params})});
  const {result, error} = await r.json();
  if (error && !error.data?.txHash) throw new Error(`${method}: ${error.message}`);
  return result;
}
const word = (n) => BigInt(n).toString(16).padStart(64, '0');
const address = (a) => a.slice(2).padStart(64, '0');
const send = async (tx) => rpc('eth_sendTransaction', {from: FROM, gas: '0x2dc6c0', ...tx});

const browser = await openBrowser();
check(await at('', {name: 'empty', then: async (page, say) => {
  if (!(await page.locator('main').innerText()).includes('Waiting for a transaction')) say('nothing says what to do first');
}, ...(extent === 'full' ? {} : {width: 390, theme: 'dark'})}));

await send({to: TO, value: '0xde0b6b3a7640000'});
const created = await send({data: bytecode + word(5000n * 10n ** 18n)});
const {contractAddress: token} = await rpc('eth_getTransactionReceipt', created);
if (!token) throw new Error('the token was not deployed');
const moved = await send({to: token, data: '0xa9059cbb' + address(TO) + word(1250n * 10n ** 18n)});
let failed = null;
try {
  failed = await send({to: token, data: '0xa9059cbb' + address(TO) + word(10n ** 40n)});
} catch { /* the answer is an error; the transaction is in the block all the same */ }
failed ??= (await rpc('eth_getBlockByNumber', 'latest', false)).transactions[0];
// A token that would like its symbol to be markup, and says nothing useful about its decimals.
const nasty = '<script>alert(1)</script><img src=x onerror=alert(2)>\u202e"\'' + 'x'.repeat(60);
const symbol = Buffer.from(nasty).toString('hex');
const answer = word(32) + word(symbol.length / 2) + symbol.padEnd(Math.ceil(symbol.length / 64) * 64, '0');
const byte = (n) => n.toString(16).padStart(2, '0');
const topic = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const log = '600160005233' + '33' + '7f' + topic + '60206000a300'; // Transfer(caller, caller, 1)
const asked = (at, size) => '5b60' + byte(size) + '60' + byte(at) + '6000' + '39' + '60' + byte(size) + '6000f3';
const test = '36600414' + '60' + byte(7 + log.length / 2) + '57'; // four bytes: a question
const runtime = test + log + asked(7 + (log.length + asked(0, 0).length) / 2, answer.length / 2) + answer;
const init = '61' + (runtime.length / 2).toString(16).padStart(4, '0') + '80600c6000396000f3' + runtime;
const {contractAddress: trap} = await rpc('eth_getTransactionReceipt', await send({data: '0x' + init}));
const sprung = await send({to: trap, data: '0x0102030405'});
const head = Number(await rpc('eth_blockNumber'));
const count = (n) => Number(n).toLocaleString('en-US');

check(await at('', {name: 'home', ...(extent === 'full' ? {} : {width: 1440, theme: 'light'}), then: async (page, say) => {
  if (await page.locator('.big a').innerText() !== count(head)) say(`height is not ${head}`);
  if (await page.locator('svg.bars a').count() !== head + 1) say('a bar a block');
  if (await page.locator('table').nth(1).locator('tbody tr').count() < 4) say('transactions are missing');
}}));
check(await at(`/tx/${moved}`, {name: 'transfer', ...(extent === 'full' ? {} : {width: 390, theme: 'dark'}), then: async (page, say) => {
  const receipt = await rpc('eth_getTransactionReceipt', moved);
  const main = await page.locator('main').innerText();
  for (const fact of ['1,250.00', count(receipt.gasUsed), `Block ${count(receipt.blockNumber)}`, 'Transfer', 'transfer', 'Success']) {
    if (!main.includes(fact)) say(`no ${fact}`);
  }
  if (!/sent\s+1,250\.00\s+LMN\s+to/.test(await page.locator('.say').innerText())) say(`sentence: ${await page.locator('.say').innerText()}`);
  if (!/transfer\s*\(\s*0x\w+(…\w+)?\s*,\s*1,250,000,000,000,000,000,000\s*\)\s*→\s*true/.test(await page.locator('#trace').innerText())) say(`call: ${await page.locator('#trace').innerText()}`);
  const fee = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
  const shown = (await page.locator('h2:has-text("Fee") + .end').innerText()).replace(' LUX', '').replaceAll(',', '');
  const [whole, part = ''] = shown.split('.');
  if (BigInt(whole + part.padEnd(18, '0')) !== fee) say(`fee ${shown}, not ${fee} wei`);
  const copied = await page.locator('.hx.this [data-copy]').getAttribute('data-copy');
  if (copied !== moved) say(`the copy button gives ${copied}`);
}}));
check(await at(`/tx/${moved}?view=state`, {name: 'state', ...(extent === 'full' ? {} : {width: 390, theme: 'dark'}), then: async (page, say) => {
  const {pre, post} = await rpc('debug_traceTransaction', moved, {tracer: 'prestateTracer', tracerConfig: {diffMode: true}});
  const main = (await page.locator('#trace').innerText()).replaceAll(/\s+/g, ' ');
  const words = [...Object.values(pre[token].storage ?? {}), ...Object.values(post[token].storage)].map(BigInt);
  for (const w of words) if (page.viewportSize().width > 860 && !main.includes(count(w))) say(`no ${w}`);
  if ((main.match(/Slot 0, entry of/g) ?? []).length !== 2) say('balances are not known as entries of a mapping');
}}));
check(await at(`/tx/${moved}?view=opcodes&at=100`, {name: 'opcodes', ...(extent === 'full' ? {} : {width: 1440, theme: 'light'}), then: async (page, say) => {
  const {structLogs} = await rpc('debug_traceTransaction', moved);
  const tags = await page.locator('#trace tbody .tag').allInnerTexts();
  const want = structLogs.slice(100, 350).map((x) => x.op);
  if (tags.join() !== want.join()) say(`${tags.length} instructions, ${want.length} in the trace`);
}}));
check(await at(`/tx/${sprung}`, {name: 'hostile', then: async (page, say) => {
  if (await page.locator('main script, main img').count() !== 0) say('markup of a token reached the page');
  const main = await page.locator('main').innerText();
  if (!main.includes('<script>alert(1)</script>')) say('the symbol is not shown');
  if (main.includes('\u202e')) say('a mark that turns the direction reached the page');
}, ...(extent === 'full' ? {} : {width: 390, theme: 'light'})}));
check(await at(`/tx/${failed}`, {name: 'reverted', then: async (page, say) => {
  const main = await page.locator('main').innerText();
  if (!main.includes('Reverted') || !main.includes('but it failed')) say('nothing says that it failed');
}}));
check(await at(`/contract/${token}`, {name: 'contract-page', ...(extent === 'full' ? {} : {width: 390, theme: 'dark'}), then: async (page, say) => {
  const main = await page.locator('main').innerText();
  for (const fact of ['ERC-20', 'Lumen', 'LMN', 'balanceOf', 'transferFrom', 'Solidity']) if (!main.includes(fact)) say(`no ${fact}`);
  const size = (await rpc('eth_getCode', token, 'latest')).length / 2 - 1;
  if (!main.includes(count(size))) say(`size is not ${size}`);
}}));
check(await at(`/contract/${token}`, {name: 'ask', width: 1440, theme: 'light', then: async (page, say) => {
  const fill = async (name, ...values) => {
    await page.goto(`${origin}/explorer/contract/${token}`);
    const form = page.locator('details.fn', {has: page.locator(`summary bdi:text-is("${name}")`)});
    await form.locator('summary').click();
    for (const [i, v] of values.entries()) await form.locator(`[name=a${i}]`).fill(v);
    await Promise.all([page.waitForURL(/[?]f=/), form.locator('button').click()]);
    return (await page.locator('#answer').innerText()).replaceAll(/\s+/g, ' ');
  };
  const balance = async () => BigInt(await rpc('eth_call', {to: token, data: '0x70a08231' + address(TO)}, 'latest'));
  const before = await balance();
  const read = await fill('balanceOf', TO);
  if (!read.includes(count(before)) || !read.includes(`${count(before / 10n ** 18n)}.00 LMN`)) say(`balance: ${read}`);
  const tried = await fill('transfer', TO, '7 LUX');
  if (!tried.includes('Would succeed') || !tried.includes('Transfer')) say(`trial: ${tried}`);
  if (await balance() !== before) say('a trial changed something');
  await Promise.all([page.waitForURL(/\/tx\/0x/), page.locator('[data-send]').click()]);
  if (await balance() !== before + 7n * 10n ** 18n) say('nothing was sent');
  if (!/sent\s+7\.00\s+LMN/.test(await page.locator('.say').innerText())) say('another transaction');
  const fails = await fill('transfer', TO, '1000000 LUX');
  if (!fails.includes('Would fail')) say(`should fail: ${fails}`);
  // a wallet in the browser: its account sends
  await page.addInitScript(() => {
    window.ethereum = {asked: [], request(x) { this.asked.push(x); return Promise.resolve(x.method === 'eth_requestAccounts' ? ['0x70997970c51812dc3a010c7d01b50e0d17dc79c8'] : null); }};
  });
  await fill('approve', FROM, '5');
  const asked = await page.evaluate(() => {
    window.ethereum.request = (x) => { window.ethereum.asked.push(x); return x.method === 'eth_sendTransaction' ? Promise.reject(new Error('The person said no')) : Promise.resolve(['0x70997970c51812dc3a010c7d01b50e0d17dc79c8']); };
    document.querySelector('[data-send]').click();
    return new Promise((done) => { setTimeout(() => done(window.ethereum.asked), 200); });
  });
  const [tx] = asked.at(-1).params;
  if (tx.from.toLowerCase() !== TO || tx.to !== token || tx.data !== '0x095ea7b3' + address(FROM) + word(5)) say(`the wallet was asked ${JSON.stringify(asked)}`);
  if (asked.find((x) => x.method === 'wallet_switchEthereumChain')?.params[0].chainId !== await rpc('eth_chainId')) say('the wallet may be on another chain');
  if (!(await page.locator('#answer output').innerText()).includes('The person said no')) say('a refusal is not shown');
  // an ABI that is pasted, and kept
  await page.goto(`${origin}/explorer/contract/${token}`);
  await page.locator('textarea[name=abi]').fill('<img src=x onerror=alert(1)>');
  await Promise.all([page.waitForEvent('load'), page.locator('form[data-abi] button').click()]);
  if (!(await page.locator('main').innerText()).includes('This is no ABI')) say('no word about a broken ABI');
  if (await page.locator('main img').count() !== 0) say('markup of an ABI reached the page');
  await page.locator('textarea[name=abi]').fill(JSON.stringify([{type: 'function', name: 'ping', stateMutability: 'view', inputs: [{name: '<b>x', type: 'uint8'}], outputs: []}]));
  await Promise.all([page.waitForEvent('load'), page.locator('form[data-abi] button').click()]);
  if (!(await page.locator('main').innerText()).includes('This is no ABI')) say('a name that is none was taken');
  await page.locator('textarea[name=abi]').fill('ping(uint8 x) view(uint256)');
  await Promise.all([page.waitForEvent('load'), page.locator('form[data-abi] button').click()]);
  if (await page.locator('details.fn summary b').allInnerTexts().then((x) => x.join()) !== 'ping') say('the ABI is not shown');
  await page.goto(`${origin}/explorer/contract/${token}`);
  if (await page.locator('textarea[name=abi]').inputValue() !== 'ping(uint8 x) view(uint256)') say('the ABI was forgotten');
}}));
if (extent === 'full') check(await at('/tokens', {name: 'tokens', then: async (page, say) => {
  const main = await page.locator('main').innerText();
  for (const fact of ['Lumen', 'LMN', 'ERC-20']) if (!main.includes(fact)) say(`no ${fact}`);
}}));
check(await at(`/token/${token}?tab=holders`, {name: 'holders', ...(extent === 'full' ? {} : {width: 1440, theme: 'dark'}), then: async (page, say) => {
  const main = await page.locator('main').innerText();
  const supply = BigInt(await rpc('eth_call', {to: token, data: '0x18160ddd'}, 'latest'));
  for (const who of [FROM, TO]) {
    const has = BigInt(await rpc('eth_call', {to: token, data: '0x70a08231' + address(who)}, 'latest'));
    if (!main.includes(`${count(has / 10n ** 18n)}.00 LMN`)) say(`${who} has ${has}`);
    const share = has * 10000n / supply;
    if (page.viewportSize().width > 860 && !main.includes(`${share / 100n}.${String(share % 100n).padStart(2, '0')}`)) say(`share ${share}`);
  }
}}));
check(await at(`/token/${trap}`, {name: 'hostile-token', ...(extent === 'full' ? {} : {width: 390, theme: 'dark'}), then: async (page, say) => {
  if (await page.locator('main script, main img').count() !== 0) say('markup of a token reached the page');
  const main = await page.locator('main').innerText();
  if (!main.includes('<script>alert(1)</script>')) say('the name is not shown');
}}));
// Hostile names and long numbers at every width: on a small phone, a phone, where the bar is just one line, on a desk.
const tower = 'Z' + '\u0301\u0316\u0334'.repeat(60) + '\u202e<b>' + 'W'.repeat(300);
const words = Buffer.from(tower).toString('hex');
const name32 = word(32) + word(words.length / 2) + words.padEnd(Math.ceil(words.length / 64) * 64, '0');
const huge = 'f'.repeat(63) + 'e';
const log2 = '7f' + huge + '600052' + '33' + '33' + '7f' + topic + '60206000a300'; // Transfer(caller, caller, 2^256 - 2)
const size16 = (n) => n.toString(16).padStart(4, '0');
const reply = (at) => '5b61' + size16(name32.length / 2) + '61' + size16(at) + '6000' + '39' + '61' + size16(name32.length / 2) + '6000f3';
const code2 = '36600414' + '60' + byte(7 + log2.length / 2) + '57' + log2 + reply(7 + log2.length / 2 + reply(0).length / 2) + name32;
const init2 = '61' + size16(code2.length / 2) + '80600c6000396000f3' + code2;
const {contractAddress: tall} = await rpc('eth_getTransactionReceipt', await send({data: '0x' + init2}));
const towered = await send({to: tall, data: '0x0102030405', value: '0x0'});
for (const width of extent === 'full' ? [360, 390, 620, 861, 880, 900, 1024, 1142, 1440] : [360, 390, 880, 1440]) {
  for (const [name, path] of [['home', ''], ['tx', `/tx/${towered}`], ['token', `/token/${tall}`], ['token-holders', `/token/${tall}?tab=holders`], ['token-contract', `/contract/${tall}?f=name()+view(string)`],
    ['account', `/address/${FROM}?tab=tokens`], ['list', '/tokens'], ['pool', '/pool'], ['blocks', '/blocks'], ['node', '/node']]) {
    check(await at(path, {name: `w-${name}`, width, theme: 'light', then: async (page, say) => {
      const text = await page.locator('main').innerText();
      if (name.startsWith('token') && !text.includes('<b>WWW')) say('the name is not shown');
      if (/\p{M}{3}/u.test(text)) say('a tower of combining marks');
      if (text.includes('\u202e')) say('a mark that turns the direction');
    }}));
  }
}
await rpc('evm_setAutomine', false);
const [next, gap] = [await send({to: TO, value: '0x1'}), await send({to: TO, value: '0x1', nonce: '0xff'})];
check(await at('/pool', {name: 'pool', ...(extent === 'full' ? {} : {width: 390, theme: 'light'}), then: async (page, say) => {
  const main = await page.locator('main').innerText();
  const {pending, queued} = await rpc('txpool_status');
  for (const fact of ['Next block', 'Nonce missing']) if (!main.includes(fact)) say(`no ${fact}`);
  if (!new RegExp(`Executable\\s+${Number(pending)}\\s`).test(main) || !new RegExp(`Queued\\s+${Number(queued)}\\s`).test(main)) say(`counts: ${main.slice(0, 200)}`);
  const {explanation} = await rpc('txpool_explain', gap);
  if (!main.replaceAll(/\s+/g, ' ').includes(explanation)) say('the reason is another');
}}));
check(await at(`/tx/${next}`, {name: 'pending', ...(extent === 'full' ? {} : {width: 1440, theme: 'dark'}), then: async (page, say) => {
  const main = await page.locator('main').innerText();
  for (const fact of ['Pending', 'wants to send', (await rpc('txpool_explain', next)).explanation]) if (!main.includes(fact)) say(`no ${fact}`);
}}));
check(await at('/pool', {name: 'pool-live', width: 1440, theme: 'light', then: async (page, say) => {
  await page.locator('.pill.live').waitFor({timeout: 5000}).catch(() => say('nothing says that it is live'));
  const more = await send({to: TO, value: '0x1', nonce: '0xfe'});
  const row = page.locator(`.t tbody a[href$="${more}"]`);
  await row.waitFor({timeout: 5000}).catch(() => say('what comes is not shown'));
  await rpc('anvil_dropTransaction', more);
  await row.waitFor({state: 'detached', timeout: 5000}).catch(() => say('what leaves is still shown'));
}}));
await rpc('anvil_dropTransaction', gap);
check(await at(`/tx/${next}`, {name: 'pending-live', width: 1440, theme: 'light', then: async (page, say) => {
  await page.locator('.pill.live').waitFor({timeout: 5000}).catch(() => say('nothing says that it is live'));
  await rpc('evm_mine');
  await page.locator('.pill.ok:has-text("Success")').waitFor({timeout: 5000}).catch(() => say('a block took it, and the page does not say so'));
}}));
await rpc('evm_mine');
await rpc('evm_setAutomine', true);
check(await at('/node', {name: 'node', ...(extent === 'full' ? {} : {width: 390, theme: 'dark'}), then: async (page, say) => {
  const main = await page.locator('main').textContent();
  const {checks, healthy} = await (await fetch(`${origin}/v1/health`)).json();
  for (const fact of [...Object.keys(checks), healthy ? 'Healthy' : 'Unhealthy', count(Number(await rpc('eth_blockNumber'))), (await rpc('eth_getBlockByNumber', '0x0', false)).hash]) if (!main.includes(fact)) say(`no ${fact}`);
}}));
if (extent === 'full') {
  check(await at(`/tx/${created}`, {name: 'deploy', then: async (page, say) => {
    if (!(await page.locator('.say').innerText()).includes('deployed the contract')) say('no deployment');
  }}));
  check(await at(`/block/C/${head}`, {name: 'block', then: async (page, say) => {
    const b = await rpc('eth_getBlockByNumber', '0x' + head.toString(16), false);
    const main = await page.locator('main').innerText();
    for (const fact of [count(b.gasUsed), count(b.gasLimit), `Block ${count(head)}`]) if (!main.includes(fact)) say(`no ${fact}`);
    if (await page.locator('.hx.this [data-copy]').getAttribute('data-copy') !== b.hash) say('another hash');
  }}));
  check(await at('/blocks', {name: 'blocks'}));
  check(await at(`/address/${TO}`, {name: 'address', then: async (page, say) => {
    const wei = BigInt(await rpc('eth_getBalance', TO, 'latest'));
    if (await page.locator('[aria-label="Copy balance in wei"]').getAttribute('data-copy') !== wei.toString()) say(`balance is not ${wei}`);
  }}));
  check(await at(`/address/${token}`, {name: 'contract', then: async (page, say) => {
    const code = await rpc('eth_getCode', token, 'latest');
    if ((await page.locator('pre.code').innerText()).trim() !== code) say('another code');
  }}));
  check(await at('/block/C/999999999', {name: 'no-block', status: 404}));
  check(await at('/nonsense/%3Cimg%20src=x%20onerror=alert(1)%3E', {name: 'no-page', status: 404}));
}
check(await at('', {name: 'search', width: 1440, theme: 'light', then: async (page, say) => {
  const go = async (what, where) => {
    await page.goto(`${origin}/explorer`);
    await page.keyboard.press('/');
    await page.keyboard.type(what);
    await Promise.all([page.waitForURL((u) => u.pathname !== '/explorer'), page.keyboard.press('Enter')]);
    if (!page.url().endsWith(where)) say(`${what} leads to ${page.url()}`);
  };
  await go('2', '/explorer/block/C/2');
  await go('latest', `/explorer/block/C/${Number(await rpc('eth_blockNumber'))}`);
  await go(moved, `/explorer/tx/${moved}`);
  await go(token, `/explorer/address/${token}`);
  await go('lumen', `/explorer/token/${token}`);
  await go((await rpc('eth_getBlockByNumber', '0x1', false)).hash, (await rpc('eth_getBlockByNumber', '0x1', false)).hash);
}}));
check(await at('', {name: 'live', width: 1440, theme: 'light', then: async (page, say) => {
  const since = Number(await rpc('eth_blockNumber'));
  const live = [await send({to: TO, value: '0x1'}), await send({to: TO, value: '0x2'})];
  const sent = Date.now();
  for (const hash of live) await page.locator(`tr[data-id="${hash}"]`).waitFor({timeout: 5000}).catch(() => say(`no row of ${hash}`));
  console.log(`  live rows after ${Date.now() - sent} ms`);
  const top = count(since + 2);
  await page.locator(`.big a:has-text("${top}")`).waitFor({timeout: 5000}).catch(() => say(`height is not ${top}`));
  if (!(await page.locator('.bar-end').innerText()).includes(top)) say('the bar has another height');
  const rows = await page.locator('table').nth(1).locator('tbody tr').evaluateAll((all) => all.map((x) => x.dataset.id));
  if (rows[0] !== live[1] || rows[1] !== live[0] || new Set(rows).size !== rows.length || rows.length > 12) say(`rows: ${rows}`);
  if (!(await page.locator('.pill.live').first().isVisible())) say('nothing says that it is live');
  // rows wait while somebody points at them
  await page.locator('table').first().hover();
  await send({to: TO, value: '0x3'});
  await page.locator('button:has-text("new")').first().waitFor({timeout: 5000}).catch(() => say('nothing says that rows wait'));
  if (await page.locator('table').first().locator(`tr[data-id="${since + 3}"]`).count() !== 0) say('a row came under the pointer');
  await page.mouse.move(5, 5);
  await page.locator('table').first().locator(`tr[data-id="${since + 3}"]`).waitFor({timeout: 5000}).catch(() => say('waiting rows do not come'));
  // what is taken back leaves the page
  const snapshot = await rpc('evm_snapshot');
  const gone = await send({to: TO, value: '0x4'});
  await page.locator(`tr[data-id="${gone}"]`).waitFor({timeout: 5000}).catch(() => say('no row before the way back'));
  await Promise.all([page.waitForEvent('load', {timeout: 5000}).catch(() => say('no new page after the way back')), rpc('evm_revert', snapshot)]);
  if (await page.locator(`tr[data-id="${gone}"]`).count() !== 0) say('a row of a block that is no more');
}}));
// what the page says when the node is gone, and when it is back: the browser speaks through a door that closes
const doors = new Set();
const behind = new URL(origin);
const door = net.createServer((a) => {
  const b = net.connect(Number(behind.port), behind.hostname);
  for (const [x, y] of [[a, b], [b, a]]) {
    doors.add(x);
    x.on('error', () => {});
    x.on('close', () => { doors.delete(x); y.destroy(); });
    x.pipe(y);
  }
});
await new Promise((done) => { door.listen(0, '127.0.0.1', done); });
const {port} = door.address();
{
  const page = await (await browser.newContext({viewport: {width: 1440, height: 900}})).newPage();
  const found = [];
  const say = (text) => found.push(`gone: ${text}`);
  const live = page.locator('.pill.live:has-text("Live")').first();
  const lost = page.locator('.pill.live:has-text("No connection")').first();
  await page.goto(`http://127.0.0.1:${port}/explorer`);
  await live.waitFor({timeout: 5000}).catch(() => say('it is not live'));
  await new Promise((done) => { door.close(done); doors.forEach((x) => x.destroy()); });
  await lost.waitFor({timeout: 10000}).catch(() => say('it says "Live" though the node is gone'));
  if (await live.count() !== 0) say('somewhere it still says "Live"');
  await new Promise((done) => { door.listen(port, '127.0.0.1', done); });
  await live.waitFor({timeout: 15000}).catch(() => say('it is not live though the node is back'));
  check(found);
  await page.context().close();
  door.close();
  doors.forEach((x) => x.destroy());
}
const plain = await plainText(browser, `${origin}/explorer/tx/${moved}`);
check(['What moved', 'Trace', 'Logs'].filter((x) => !plain.includes(x)).map((x) => `without scripts: no ${x}`));
await browser.close();
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
