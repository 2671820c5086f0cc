// A page in headless Chromium, as people with and without a mouse, on a desk and on a phone, by day and by night, meet it.
//
// visit() opens a page at two widths in two themes and gives what was found wrong: violations of the content security
// policy, errors of scripts, requests that leave the service or fail, what axe-core finds, a page that scrolls sideways,
// and things that the keyboard does not reach.
import {createRequire} from 'node:module';
import {readFileSync} from 'node:fs';
import {chromium} from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDTHS = [1440, 390];
const THEMES = ['light', 'dark'];

export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

// Parts of the frame and of panels that lie over each other, or stick out of the page.
function overlaps() {
  const found = [];
  const text = (x) => (x.className || x.tagName) + ' ' + x.textContent.trim().slice(0, 20);
  for (const row of document.querySelectorAll('.bar-in, .bar-end, .head, .panel > header, .panel > footer, .move, .t tr, .kv, .fig')) {
    const parts = [...row.children].filter((x) => x.checkVisibility() && !x.matches('.sr'))
      .map((x) => [x, x.getBoundingClientRect()]).filter(([, r]) => r.width > 0 && r.height > 0);
    for (const [i, [x, a]] of parts.entries()) {
      if (!row.closest('.scroll, .tabs') && a.right > document.documentElement.clientWidth + 1) found.push(`${text(x)} ends at ${Math.round(a.right)}`);
      for (const [y, b] of parts.slice(i + 1)) {
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) found.push(`${text(x)} | ${text(y)}`);
      }
    }
    for (const x of row.querySelectorAll('.hx a, .hx .v, bdi, .tag, .pill')) { // what is written runs out of its own box
      const r = x.getBoundingClientRect(), p = row.getBoundingClientRect();
      if (x.checkVisibility() && !row.closest('.scroll') && !x.closest('.sr, .scroll') && r.width > 0 && (r.right > p.right + 1 || r.left < p.left - 1)) found.push(`${text(x)} runs out of ${text(row)}`);
    }
  }
  return [...new Set(found)].slice(0, 5);
}

// What can be focused and is shown must be reached with Tab, in the order of the page, each with a visible outline.
async function checkKeyboard(page, say) {
  const want = await page.evaluate(() => [...document.querySelectorAll('a[href],button,input,select,textarea,summary,[tabindex="0"]')]
    .filter((x) => !x.disabled && x.tabIndex >= 0 && x.checkVisibility({checkVisibilityCSS: true}) && !x.closest('[hidden]') && (x.type !== 'radio' || x.checked))
    .map((x, i) => { x.dataset.walk = i; return x.outerHTML.slice(0, 90); }));
  const reached = new Set();
  await page.evaluate(() => { document.activeElement?.blur(); window.scrollTo(0, 0); });
  for (let i = 0; i < want.length + 20 && reached.size < want.length; i++) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const x = document.activeElement;
      if (!x || x === document.body) return null;
      const s = getComputedStyle(x);
      return {walk: x.dataset.walk, outlined: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1};
    });
    if (at?.walk === undefined) continue;
    reached.add(Number(at.walk));
    if (!at.outlined) say(`focus is not visible: ${want[at.walk]}`);
  }
  want.forEach((html, i) => { if (!reached.has(i)) say(`Tab does not reach ${html}`); });
}

// name is for messages and pictures; then(page, say) looks at the page's own facts, once per width and theme.
// meta: the policy stands in the page itself. apart: parts of the page must not lie over each other.
export async function visit(browser, url, {name, shots, status = 200, then, width, theme, cookies = [], meta = false, apart = false} = {}) {
  const found = [];
  for (const w of width ? [width] : WIDTHS) {
    for (const t of theme ? [theme] : THEMES) {
      const say = (text) => found.push(`${name} ${w} ${t}: ${text}`);
      const context = await browser.newContext({viewport: {width: w, height: 900}, colorScheme: t, reducedMotion: 'reduce', bypassCSP: false});
      await context.addCookies(cookies);
      const page = await context.newPage();
      const origin = new URL(url).origin;
      page.on('console', (m) => { if (['error', 'warning'].includes(m.type()) && !(status >= 400 && m.text().includes(`status of ${status}`))) say(`console: ${m.text()}`); });
      page.on('pageerror', (e) => say(`script: ${e.message}`));
      page.on('request', (r) => { if (new URL(r.url()).origin !== origin) say(`leaves the service: ${r.url()}`); });
      page.on('requestfailed', (r) => { if (!r.failure().errorText.includes('ERR_ABORTED')) say(`failed: ${r.url()}`); });
      await page.addInitScript(() => {
        window.policy = [];
        document.addEventListener('securitypolicyviolation', (e) => window.policy.push(`${e.violatedDirective} ${e.blockedURI}`));
      });
      const answer = await page.goto(url, {waitUntil: 'load'});
      if (answer.status() !== status) say(`status ${answer.status()}, not ${status}`);
      if (!meta && !(answer.headers()['content-security-policy'] ?? '').includes("default-src 'self'")) say('no content security policy');
      if (meta && !(await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute('content')).startsWith("default-src 'none'")) say('no content security policy');
      const sideways = await page.evaluate(() => ({
        page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        tables: [...document.querySelectorAll('.panel table, .panel .tree, .panel svg')].filter((x) =>
          !x.closest('.scroll') && x.getBoundingClientRect().right > x.closest('.panel').getBoundingClientRect().right + 1).length,
      }));
      for (const pair of apart ? await page.evaluate(overlaps) : []) say(`overlap: ${pair}`);
      if (sideways.page > 0) say(`scrolls sideways by ${sideways.page} px`);
      if (sideways.tables > 0) say(`${sideways.tables} wider than their panel`);
      if (shots) await page.screenshot({path: `${shots}/${name}-${w}-${t}.png`, fullPage: true});
      if (then) await then(page, say);
      if (t === THEMES[0] || theme) await checkKeyboard(page, say); // colours do not change the order
      await page.evaluate(() => { document.activeElement?.blur(); window.scrollTo(0, 0); }); // nothing sticks over anything
      await page.evaluate(axe); // through the debugger: the page's policy lets no script of ours in
      const report = await page.evaluate(() => axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}));
      for (const v of report.violations) say(`axe ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 140)).join(' | ')}`);
      for (const p of await page.evaluate(() => window.policy)) say(`policy: ${p}`);
      await context.close();
    }
  }
  return found;
}

// The same page without scripts: its text must be there.
export async function plainText(browser, url, cookies = []) {
  const context = await browser.newContext({javaScriptEnabled: false});
  await context.addCookies(cookies);
  const page = await context.newPage();
  await page.goto(url);
  const text = await page.locator('main').innerText();
  await context.close();
  return text;
}
