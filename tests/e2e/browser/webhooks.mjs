// The dashboard of webhooks in a browser. usage: WEBHOOK_KEY=KEY node webhooks.mjs ORIGIN sample|full [FOLDER FOR PICTURES]
// The sample looks at three pages, the full run at all of them.
import {openBrowser, plainText, visit} from './browser.mjs';

const [origin, extent, shots] = process.argv.slice(2);
const browser = await openBrowser();
let passed = 0;
const failures = [];
const check = (found) => { if (found.length === 0) passed++; failures.push(...found); found.forEach((f) => console.log(f)); };

// Signing in, without scripts, as everything works without them
const context = await browser.newContext({javaScriptEnabled: false});
const door = await context.newPage();
await door.goto(origin + '/');
check(door.url().endsWith('/sign-in') ? [] : [`without a session: ${door.url()}`]);
await door.fill('input[name=key]', 'sk_wrong');
await door.click('main button');
check(await door.locator('.note.bad').count() === 1 ? [] : ['a wrong key is not refused']);
await door.fill('input[name=key]', process.env.WEBHOOK_KEY);
await door.click('main button');
check(await door.locator('h1').innerText() === 'Overview' ? [] : ['signing in does not lead to the overview']);
const cookies = await context.cookies();
check(cookies.every((c) => c.httpOnly && c.sameSite === 'Lax') && cookies.length === 1 ? [] : ['the cookie is open']);
const hook = await door.locator('td.fill a').first().getAttribute('href');
await door.goto(`${origin}/webhooks?q=tenant`);
const sick = await door.locator('tr:has(.pill.warn) td.fill a').first().getAttribute('href');
await door.goto(origin + sick);
const delivery = await door.locator('a[href*="/deliveries/"]').first().getAttribute('href');
// several at once, found by what they watch
const filter = `${origin}/webhooks?q=0x70997970c51812dc3a010c7d01b50e0d17dc79c8&status=active`;
await door.goto(filter);
const found = await door.locator('input[name=id]').count();
for (const box of await door.locator('input[name=id]').all()) await box.check();
await door.click('button[value=pause]');
check(await door.locator('.note').innerText() === 'Paused. New matches are recorded as skipped and can be replayed.' ? [] : ['nothing was paused']);
await door.goto(filter);
check(found === 2 && await door.locator('input[name=id]').count() === 0 ? [] : [`${found} found, some are active still`]);
await door.goto(filter.replace('active', 'paused'));
for (const box of await door.locator('tr:not(:has-text("/paused")) input[name=id]').all()) await box.check();
await door.click('button[value=resume]');
await door.goto(filter);
check(await door.locator('input[name=id]').count() === 2 ? [] : ['not all were resumed']);
await context.close();

const at = (path, options) => visit(browser, origin + path, {shots, cookies, ...options});
check(await at('/', {
  name: 'overview',
  then: async (page, say) => {
    if (await page.locator('.fig').count() < 5) say('figures are missing');
    if (await page.locator('.pill.live').count() === 0) say('no live tail');
  },
}));
check(await at(delivery, {
  name: 'delivery', ...(extent === 'full' ? {} : {width: 390}),
  then: async (page, say) => {
    if (await page.locator('.steps li').count() !== 6) say('not six attempts in all');
    if (await page.locator('.steps .bad').count() === 0) say('the failed attempt is not shown');
    if (await page.locator('h2:text-is("Signature") + .end .pill.ok').count() !== 1) say('the signature is not found to match');
    const curl = await page.locator('[data-copy^="curl "]').getAttribute('data-copy');
    if (!/^curl -X POST 'http:.*-H 'X-Svc-Signature: [0-9a-f]{64}'.* --data-binary '\{.*\}'$/.test(curl)) say(`curl is ${curl}`);
  },
}));
check(await at('/webhooks/new', {
  name: 'new', width: 1440, theme: 'light',
  then: async (page, say) => {
    if (await page.locator('textarea[name=topics]').isVisible()) say('topics of an address');
    await page.check('input[value=log]');
    for (const name of ['topics', 'abi']) if (!await page.locator(`textarea[name=${name}]`).isVisible()) say(`no ${name} of logs`);
    await page.check('input[value=address_activity]');
    await page.fill('textarea[name=addresses]', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8');
    await page.locator('#preview .say').waitFor({timeout: 10000}).catch(() => say('no live preview'));
  },
}));
check(await at(sick + '?span=7d', {
  name: 'webhook', width: 1440, theme: 'dark',
  then: async (page, say) => {
    const said = await page.locator('svg.strip').getAttribute('aria-label');
    if (!/^Sequence numbers 1 to 5: 5 waiting$/.test(said)) say(`the strip says ${said}`);
    if (await page.locator('.seg [aria-current]').innerText() !== '7 d') say('not seven days');
  },
}));
if (extent === 'full') {
  for (const [name, path] of Object.entries({list: '/webhooks', hook: sick, good: hook, delete: `${hook}/delete`, dead: '/dead-letters',
    events: '/events', keys: '/keys', notifications: '/notifications', audit: '/audit', signin: '/sign-in', create: '/webhooks/new'})) {
    check(await at(path, {name}));
  }
  check(await at('/webhooks/wh_none', {name: 'unknown', status: 404, width: 1440, theme: 'dark'}));
}
const plain = await plainText(browser, origin + '/', cookies);
check(['Webhooks', 'Success, 24 h', 'Tail', 'All webhooks'].filter((x) => !plain.includes(x)).map((x) => `without scripts: no ${x}`));
await browser.close();
console.log(`${passed} passed, ${failures.length} failed`);
process.exit(failures.length === 0 ? 0 : 1);
