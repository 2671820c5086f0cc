// The pricing page in a browser. usage: node pricing.mjs ORIGIN sample|full [FOLDER FOR PICTURES]
// The sample looks at the first page only.
import {openBrowser, plainText, visit} from './browser.mjs';

const [origin, extent, shots] = process.argv.slice(2);
const browser = await openBrowser();
let passed = 0;
const failures = [];
const check = (found) => { if (found.length === 0) passed++; failures.push(...found); found.forEach((f) => console.log(f)); };
const post = (path) => fetch(origin + path, {method: 'POST'});
const at = (path, options) => visit(browser, origin + path, {shots, ...options});

check(await at('/?id=bitcoin', {
  name: 'price',
  then: async (page, say) => {
    const shown = await page.locator('.price').innerText();
    if (shown !== '97,234.56') say(`price ${shown}`);
    const rows = await page.locator('.t tbody tr').count();
    if (rows !== 7) say(`${rows} rows`);
    // markup of the provider's is text
    if (await page.locator('main script, main i, main img').count() !== 0) say('markup of a token reached the page');
    if (!(await page.locator('.t').innerText()).includes('<script>alert(1)</script>')) say('hostile name is not shown');
  },
}));
check(await at('/?id=bitcoin', {
  name: 'keys', width: 1440, theme: 'light',
  then: async (page, say) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('[data-copy]').first().click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    if (!/^curl 'http:\/\/[\w.:]+\/price\/bitcoin\?currency=usd'$/.test(copied)) say(`copied ${copied}`);
    await page.keyboard.press('?');
    if (!await page.locator('dialog h2').isVisible()) say('no list of keys');
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.keyboard.type('ethereum');
    await page.keyboard.press('Enter');
    await page.waitForURL(/id=ethereum/);
    if (await page.locator('.price').innerText() !== '3,412.08') say('Enter does not show the price');
    await page.goBack();
  },
}));
if (extent === 'full') {
  for (const use of ['many', 'simple']) check(await at(`/?id=solana&use=${use}&range=7d`, {name: use, width: 1440, theme: 'dark'}));
  check(await at('/?id=hostile', {name: 'hostile'}));
  check(await at('/?id=bitcoim', {
    name: 'unknown', status: 404,
    then: async (page, say) => {
      if (await page.locator('.note a').innerText() !== 'bitcoin') say('the closest id is not offered');
    },
  }));
  check(await at('/?id=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%E2%80%AE' + 'A'.repeat(2000), {name: 'nonsense', status: 404}));
  await post('/down');
  await post('/later');
  await fetch(`${origin}/?id=bitcoin`);
  check(await at('/?id=bitcoin', {
    name: 'down',
    then: async (page, say) => {
      if (!(await page.locator('.note.warn').innerText()).includes('does not answer')) say('nothing says that the provider is down');
      if (await page.locator('.pill.warn:has-text("Stale")').count() === 0) say('nothing is stale');
    },
  }));
  await post('/up');
}
const plain = await plainText(browser, `${origin}/?id=bitcoin`);
check(['97,234.56', 'In the cache', 'Use it'].filter((x) => !plain.includes(x)).map((x) => `without scripts: no ${x}`));
await browser.close();
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
