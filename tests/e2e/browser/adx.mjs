// The pages of the ad exchange. usage: node adx.mjs ORIGIN sample|full [FOLDER FOR PICTURES]
import {readFileSync} from 'node:fs';
import {openBrowser, plainText, visit} from './browser.mjs';

const [origin, extent, shots] = process.argv.slice(2);
const facts = JSON.parse(readFileSync('adx.json', 'utf8'));
const browser = await openBrowser();
let passed = 0;
const failures = [];
const check = (found) => { if (found.length === 0) passed++; failures.push(...found); found.forEach((f) => console.log(f)); };
const at = (path, options) => visit(browser, origin + path, {shots, ...options});
const has = (...words) => async (page, say) => {
  const text = await page.locator('main').innerText();
  for (const w of words) if (!text.includes(w)) say(`"${w}" is not there`);
  if (await page.locator('main script:not([src]), main i, main img').count() !== 0) say('markup of others reached the page');
};

const [reached, hidden] = facts.miners;
const registered = async (url) => {
  for (let i = 0; i < 200; i++) {
    if ((await (await fetch(`${url}/stats`)).json()).exchange.registered) return;
    await new Promise((r) => setTimeout(r, 50));
  }
};
await registered(reached);
await registered(hidden);

check(await at('/', {name: 'overview', then: has('Auctions', 'Paid impressions', 'Miners', 'Bidders', 'Requests by minute')}));
check(await at('/', {
  name: 'live', width: 1440, theme: 'dark',
  then: async (page, say) => {
    const doc = await (await fetch(`${origin}/vast?slot=s1`)).text();
    await fetch(`${origin}/t/impression?b=${/impression\?b=([\w-]+)/.exec(doc)[1]}`);
    await page.mouse.move(0, 0);
    await page.locator('.fig:has-text("Paid impressions") dd:has-text("5")').first().waitFor({timeout: 20000}).catch(() => say('nothing comes by itself'));
  },
}));
check(await at('/campaigns', {name: 'campaigns', then: has('c1', '12.5', 'On pace', '0.005', '<script>x</script>')}));
check(await at('/bidders', {name: 'bidders', then: has('d1', 'answers within 80 ms')}));
check(await at('/slots', {name: 'slots', then: has('s1', '1280')}));
check(await at('/slots/s1', {name: 'slot', then: async (page, say) => {
  await has('/vast?slot=s1', 'Floor', 'Preview')(page, say);
  if (await page.locator('video[controls]').count() !== 1) say('no player');
}}));
check(await at('/miners', {name: 'miners', then: has('2 registered, 2 active', 'direct', 'Base, 0.50 per 1,000 impressions')}));
check(await at('/money', {name: 'money', then: has('Off the chain', 'To be settled', 'Fees')}));
check(await at('/auctions', {name: 'auctions', then: async (page, say) => {
  if (await page.locator(`a[href="/auctions/${facts.auction}"]`).count() === 0) say('the auction is not listed');
}}));
check(await at(`/auctions/${facts.auction}`, {
  name: 'auction',
  then: async (page, say) => {
    await has('d2', '7 USD CPM', 'Set the price', 'Winner', 'Hidden', 'Check it yourself')(page, say);
  },
}));
// the browser checks the proof itself; a document that was tampered with is found out
check(await at(`/auctions/${facts.auction}`, {
  name: 'verify', width: 1440, theme: 'dark',
  then: async (page, say) => {
    await page.locator('[data-verify]').click();
    await page.locator('#said[data-valid]').waitFor({timeout: 60000});
    if (!(await page.locator('#said').innerText()).startsWith('Valid')) say(await page.locator('#said').innerText());
    for (const [what, change] of [['proof', (o) => { o.proof = o.proof.slice(0, 90) + (o.proof[90] === '0' ? '1' : '0') + o.proof.slice(91); }],
      ['price', (o) => { o.clearing_price = String(BigInt(o.clearing_price) - 1n); }], ['bidder', (o) => { o.bids[0].bidder_id = 'x'; }],
      ['winner', (o) => { o.winner_seq = 0; o.winner_id = o.bids[0].bidder_id; }]]) {
      await page.route('**/auction/outcome*', async (route) => {
        const answer = await route.fetch(), o = JSON.parse(await answer.text());
        change(o);
        await route.fulfill({response: answer, body: JSON.stringify(o)});
      });
      await page.evaluate(() => delete document.getElementById('said').dataset.valid);
      await page.locator('[data-verify]').click();
      await page.locator('#said[data-valid]').waitFor({timeout: 60000});
      if (!(await page.locator('#said').innerText()).startsWith('Not valid')) say(`another ${what} is not noticed`);
      await page.unroute('**/auction/outcome*');
    }
  },
}));
check(await at(`/auctions/${'0'.repeat(64)}`, {name: 'unknown', status: 404, then: has('No auction has the id')}));
// the miners' own pages: one that players reach, one that they do not
check(await visit(browser, `${reached}/`, {shots, name: 'miner', then: async (page, say) => {
  await has('This miner serves players', 'Files kept', 'Registered', '203.0.113.7', 'candela-adx miner earnings')(page, say);
  const sent = page.locator('.fig:has-text("Sent to players")');
  const before = Number(/(\d+) requests?/.exec(await sent.innerText())[1]);
  await fetch(`${reached}/media/${'0'.repeat(64)}`);
  await sent.filter({hasText: `${before + 1} request`}).waitFor({timeout: 20000}).catch(() => say('nothing comes by itself'));
}}));
check(await visit(browser, `${hidden}/`, {shots, name: 'miner-hidden', width: 390, theme: 'dark',
  then: has('This miner serves nobody now', 'Players on the Internet cannot reach this miner', '--public-ip')}));
const alone = await plainText(browser, `${reached}/`);
check(['Files kept', 'Paid to'].filter((w) => !alone.includes(w)).map((w) => `without scripts: no ${w}`));
const text = await plainText(browser, `${origin}/auctions/${facts.auction}`);
check(['Winner', 'Set the price', 'candela-adx verify-outcome'].filter((w) => !text.includes(w)).map((w) => `without scripts: no ${w}`));
const bare = await plainText(browser, `${origin}/`);
check(['Paid impressions', 'Bidders'].filter((w) => !bare.includes(w)).map((w) => `without scripts: no ${w}`));
const found = await fetch(`${origin}/search?q=${facts.auction}`, {redirect: 'manual'});
check(found.headers.get('location') === `/auctions/${facts.auction}` ? [] : ['search does not lead to the auction']);

await browser.close();
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
