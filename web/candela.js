// Adds copying, live rows, keys and hints to pages that work without it.
'use strict';
(() => {
  const one = (s, r = document) => r.querySelector(s);
  const all = (s, r = document) => [...r.querySelectorAll(s)];
  const on = (type, f, target = document) => target.addEventListener(type, f);
  const make = (tag, text = '') => Object.assign(document.createElement(tag), { textContent: text });

  const toast = (text) => {
    const t = one('.toast');
    t.textContent = text;
    clearTimeout(toast.timer);
    toast.timer = setTimeout(() => { t.textContent = ''; }, 1800);
  };

  // Copying
  const copy = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      return toast('Not copied: select the text instead');
    }
    if (button) {
      button.classList.add('done');
      setTimeout(() => button.classList.remove('done'), 1200);
    }
    toast('Copied');
  };
  on('click', (e) => {
    const b = e.target.closest('[data-copy]');
    if (b) copy(b.dataset.copy, b);
  });

  // The same identifier lights up wherever it stands on the page
  const light = (e, is) => {
    const h = e.target.closest && e.target.closest('.hx');
    if (h) all('.hx').forEach((x) => { if (x.dataset.h === h.dataset.h) x.classList.toggle('hl', is); });
  };
  for (const type of ['over', 'out']) on(`pointer${type}`, (e) => light(e, type === 'over'));
  for (const type of ['in', 'out']) on(`focus${type}`, (e) => light(e, type === 'in'));

  // What the text in the search box looks like; the server decides
  const kinds = [
    [/^0x[0-9a-f]{64}$/i, 'Transaction or block'], [/^0x[0-9a-f]{40}$/i, 'Address'],
    [/^(0x[0-9a-f]{1,16}|(c\/)?[\d,]+)$/i, 'Block'], [/^(latest|finalized|safe)$/i, 'Block'],
  ];
  const q = one('#q');
  if (q) {
    const hint = () => {
      const text = q.value.trim(), kind = kinds.find(([form]) => form.test(text)), out = one('.search output');
      out.hidden = !kind;
      out.textContent = kind ? kind[1] : '';
      one('.search kbd').hidden = text !== '';
    };
    on('input', hint, q);
    hint();
  }

  // Ages go on
  const units = [[60, 's', 1], [3600, 'min', 60], [86400, 'h', 3600], [2592000, 'd', 86400]];
  setInterval(() => {
    if (document.hidden) return;
    const now = Date.now() / 1000;
    for (const t of all('time')) {
      const s = Math.floor(now - Date.parse(t.dateTime) / 1000), unit = units.find(([end]) => s < end);
      if (s >= 0 && unit && / ago$|^in /.test(t.textContent)) t.textContent = `${Math.floor(s / unit[2])} ${unit[1]} ago`;
    }
  }, 1000);

  // What is live says where and what: "/path#name"; events are {id, html}
  const streams = {};
  const listen = (x, f) => {
    const [path, name] = x.dataset.live.split('#');
    if (!name) return;
    if (!streams[path]) {
      const s = streams[path] = new EventSource(path);
      on('gap', () => location.reload(), s);
      on('open', () => live(true), s);
      on('error', () => {
        live(false);
        if (s.readyState === 2) setTimeout(() => location.reload(), 30000);
      }, s);
    }
    on(name, (e) => f(JSON.parse(e.data)), streams[path]);
  };
  // "Live" stands there while the node is
  const live = (is) => {
    for (const x of all('.pill.live')) {
      if (is) x.hidden = false;
      x.classList.toggle('lost', !is);
      x.textContent = is ? 'Live' : 'No connection';
    }
  };
  const isBusy = (x) => x.matches(':hover') || x.contains(document.activeElement);
  const atRest = (part, f) => {
    const calm = () => setTimeout(() => { if (!isBusy(part)) f(); });
    on('pointerleave', calm, part);
    on('focusout', calm, part);
    return calm;
  };
  for (const part of all('[data-live]:not(table)')) {
    let next = null;
    const calm = atRest(part, () => {
      if (next !== null) part.innerHTML = next;
      next = null;
    });
    listen(part, (d) => { next = d.html; calm(); });
  }

  // What waits is read again; a page that is another one by now is shown as such
  for (const part of all('[data-fresh]')) {
    let is = true, busy = false;
    const read = async () => {
      if (is || busy) return;
      is = busy = true;
      try {
        const r = await fetch(location.href);
        const next = r.ok && one('[data-fresh]', new DOMParser().parseFromString(await r.text(), 'text/html'));
        if (r.ok && !next) location.reload();
        if (next) part.innerHTML = next.innerHTML;
      } catch {
        // The stream says when the node is back.
      }
      setTimeout(() => { busy = false; calm(); }, 500);
    };
    const calm = atRest(part, read), changed = () => { is = false; calm(); };
    part.dataset.live = part.dataset.fresh;
    listen(part, changed);
    listen({ dataset: { live: part.dataset.live.replace(/#.*/, '#height') } }, changed);
  }

  // Rows wait while someone is at their table
  for (const table of all('table[data-live]')) {
    const body = table.tBodies[0], waiting = [], max = Math.max(body.rows.length, 12), count = make('button');
    let said = 0;
    count.className = 'btn s';
    count.type = 'button';
    count.hidden = true;
    const end = one('.end', table.closest('.panel'));
    if (end) end.prepend(count);
    const flush = () => {
      for (const row of waiting.splice(0)) {
        const t = make('template');
        t.innerHTML = row.html;
        const tr = t.content.firstElementChild;
        if (!tr || all('tr', body).some((x) => x.dataset.id === row.id)) continue;
        tr.classList.add('new');
        body.prepend(tr);
        while (body.rows.length > max) body.lastElementChild.remove();
      }
      count.hidden = true;
    };
    on('click', flush, count);
    atRest(table, flush);
    listen(table, (row) => {
      waiting.push(row);
      while (waiting.length > 50) waiting.shift();
      if (!isBusy(table)) return flush();
      count.textContent = `${waiting.length} new`;
      count.hidden = false;
      if (Date.now() - said > 10000) {
        said = Date.now();
        toast(`${waiting.length} new`);
      }
    });
  }

  // An ABI is kept with the hash of its code
  const abi = one('[data-abi]');
  if (abi) {
    const text = one('textarea', abi), name = `abi:${abi.dataset.abi}`;
    text.value ||= localStorage[name] || '';
    on('submit', () => { if (text.value) localStorage[name] = text.value; }, abi);
  }

  // With an ABI all functions are fields of one form: Enter asks the one that it is pressed in
  on('keydown', (e) => {
    const part = e.key === 'Enter' && e.target.matches('.asks input') && e.target.closest('.asks');
    if (part) {
      e.preventDefault();
      one('button', part).click();
    }
  });

  // The browser's wallet sends, or the development network
  for (const b of all('[data-send]')) {
    const tx = JSON.parse(b.dataset.send), w = window.ethereum, url = b.dataset.rpc;
    const ask = async (method, params) => {
      if (w) return w.request({ method, params });
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const d = await (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).json();
      if (d.error) throw d.error;
      return d.result;
    };
    b.hidden = !w && !url;
    on('click', async () => {
      try {
        if (w) {
          [tx.from] = await ask('eth_requestAccounts');
          await ask('wallet_switchEthereumChain', [{ chainId: tx.chainId }]);
        }
        location = b.dataset.to + await ask('eth_sendTransaction', [tx]);
      } catch (e) { b.nextElementSibling.textContent = e.message; }
    }, b);
  }

  // Keys
  let g = 0;
  const keys = [['/', 'Search'], ['j', 'Next row'], ['k', 'Previous row'], ['c', 'Copy the id of this page'],
    ['[', 'Previous'], [']', 'Next'], ['?', 'These keys'], ['Esc', 'Close']];
  const help = () => {
    const d = make('dialog'), list = make('div'), close = make('button', 'Close');
    list.className = 'keys';
    const go = all('[data-go]').filter((a) => a.dataset.go).map((a) => [`g ${a.dataset.go}`, a.textContent]);
    for (const [k, what] of [...go, ...keys]) {
      const cell = make('span');
      for (const c of k.split(' ')) cell.append(make('kbd', c), ' ');
      list.append(cell, make('span', what));
    }
    close.className = 'btn s';
    on('click', () => d.close(), close);
    on('close', () => d.remove(), d);
    const title = make('h2', 'Keys');
    title.id = 'keys-title';
    d.setAttribute('aria-labelledby', title.id);
    d.append(title, list, close);
    document.body.append(d);
    d.showModal();
  };
  const row = (by) => {
    const links = all('.t tbody tr').map((r) => one('a', r)).filter(Boolean);
    const at = links.findIndex((a) => a.closest('tr').contains(document.activeElement));
    const next = links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)];
    if (next) next.focus();
  };
  const follow = (s) => { const a = one(s); if (a) a.click(); };
  on('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || one('dialog[open]')) return;
    if (e.target.matches('input,textarea,select')) {
      if (e.key === 'Escape') e.target.blur();
      return;
    }
    const box = q || one('.ask input');
    if (Date.now() - g < 900) {
      g = 0;
      follow(`[data-go="${CSS.escape(e.key)}"]`);
    } else if (e.key === '/' && box) {
      e.preventDefault();
      box.focus();
      box.select();
    } else if (e.key === 'g') g = Date.now();
    else if (e.key === 'j') row(1);
    else if (e.key === 'k') row(-1);
    else if (e.key === 'c' && one('.hx.this')) copy(one('.hx.this [data-copy]').dataset.copy);
    else if (e.key === '[') follow('a[rel=prev]');
    else if (e.key === ']') follow('a[rel=next]');
    else if (e.key === '?') help();
  });
})();
