// Says whether a block is final: asks the WebAssembly module (src/finality/wasm) about checkpoint, set changes and
// certificate, and proves accounts, storage and receipts by the roots of the block's header. No dependencies.
'use strict';
const WASM = '@wasm@';
const $ = (id) => document.getElementById(id);
const need = (ok, why) => { if (!ok) throw Error(why); };
const toHex = (b) => '0x' + Array.from(b, (x) => x.toString(16).padStart(2, '0')).join('');
const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
const big = (b) => b.reduce((v, x) => v << 8n | BigInt(x), 0n);
const group = (v) => String(v).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
const TYPES = ['BLS', 'threshold', 'BLS and threshold', 'BLS and ML-DSA'];

function fromHex(text, what) {
  const s = text.trim().replace(/^0x/i, '');
  need(s.length % 2 === 0 && /^[0-9a-f]*$/i.test(s), `${what}: not hexadecimal digits`);
  const out = new Uint8Array(s.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = parseInt(s.slice(2 * i, 2 * i + 2), 16);
  return out;
}

// --- the module
let wasm;
const ready = WebAssembly.instantiate(Uint8Array.from(atob(WASM), (c) => c.charCodeAt(0))).then((m) => { wasm = m.instance.exports; });
const memory = (at, n) => new Uint8Array(wasm.memory.buffer).slice(at, at + n);
function text(at) {
  const m = new Uint8Array(wasm.memory.buffer);
  return new TextDecoder().decode(m.slice(at, m.indexOf(0, at)));
}
function put(bytes) {
  const at = wasm.room(bytes.length);
  need(at, 'the browser gives no more memory');
  new Uint8Array(wasm.memory.buffer).set(bytes, at);
  return [at, bytes.length];
}
const hash = (name, bytes) => memory(wasm[name](...put(bytes)), 32);

class Refused extends Error {
  constructor(of, flaw) { super(text(wasm.flaw_text(flaw))); this.of = of; this.reason = text(wasm.flaw_name(flaw)); }
}
const good = (of, flaw) => { if (flaw) throw new Refused(of, flaw); };

function chainId(name) {
  for (let i = 0; i < wasm.chains(); i++) if (text(wasm.chain_name(i)) === name) return memory(wasm.chain_id(i), 32);
  const id = fromHex(name, 'Chain');
  need(id.length === 32, 'Chain: neither an ID nor a name that the checkpoint has');
  return id;
}

// The head of a certificate that was parsed.
function head(cert) {
  const v = new DataView(cert.buffer, cert.byteOffset), bits = cert.subarray(103, 103 + v.getUint32(99));
  return {type: cert[2], chain: cert.slice(3, 35), block: cert.slice(35, 67), height: v.getBigUint64(67), time: v.getBigUint64(75), total: v.getBigUint64(83),
    weight: v.getBigUint64(91), signers: bits.reduce((n, x) => n + x.toString(2).replaceAll('0', '').length, 0)};
}

// Gives what is known in the end; throws when anything is wrong.
function check(checkpoint, certificate, changes, chain) {
  const start = performance.now();
  good('checkpoint', wasm.open(...put(checkpoint)));
  const found = {sum: memory(wasm.sum(), 32), network: wasm.network()};
  good('certificate', wasm.parse(...put(certificate)));
  found.cert = head(certificate);
  if (changes.length) good('set changes', wasm.follow(...put(changes), found.cert.height));
  const at = performance.now();
  const joined = new Uint8Array(32 + certificate.length);
  joined.set(chainId(chain)); joined.set(certificate, 32);
  good('certificate', wasm.verify(...put(joined)));
  const end = performance.now();
  Object.assign(found, {epoch: BigInt.asUintN(64, wasm.epoch()), changes: wasm.changes(), validators: wasm.validators(), quantum: wasm.quantum() === 1,
    verifyMs: end - at, ms: end - start});
  found.state = found.cert.type === 1 ? 'threshold' : found.cert.type >= 2 && found.quantum ? 'final' : 'bls-final';
  return found;
}

// --- proofs: RLP, tries, headers
function rlp(b, at = 0, depth = 0) {
  need(at < b.length && depth < 8, 'the encoding is malformed');
  const c = b[at];
  let from = at + 1, n = 0;
  if (c < 0x80) return {item: b.subarray(at, at + 1), end: at + 1};
  const short = c < 0xc0 ? 0x80 : 0xc0;
  if (c - short <= 55) n = c - short;
  else {
    const size = c - short - 55;
    need(size <= 4 && from + size <= b.length && b[from] !== 0, 'the encoding is malformed');
    n = Number(big(b.subarray(from, from + size))); from += size;
    need(n > 55, 'the encoding is malformed');
  }
  const end = from + n;
  need(end <= b.length && !(short === 0x80 && n === 1 && b[from] < 0x80), 'the encoding is malformed');
  if (short === 0x80) return {item: b.subarray(from, end), end};
  const list = [];
  for (let k = from; k < end;) { const x = rlp(b.subarray(0, end), k, depth + 1); list.push(x.item); k = x.end; }
  return {item: list, end};
}
const whole = (b) => { const x = rlp(b); need(x.end === b.length, 'bytes follow the encoding'); return x.item; };
const nibbles = (b) => Array.from(b).flatMap((x) => [x >> 4, x & 15]);

// The value under a key of the trie with this root, or null when the proof shows that there is none.
function prove(root, key, proof) {
  let path = nibbles(key), want = root, inline = null;
  if (proof.length === 0) { need(same(root, hash('keccak', Uint8Array.of(0x80))), 'the proof is empty'); return null; }
  for (let i = 0; ; i++) {
    let node = inline;
    if (!node) {
      need(i < proof.length, 'the proof ends too early');
      need(same(hash('keccak', proof[i]), want), 'a node of the proof is not the one that the root leads to');
      node = whole(proof[i]);
    } else i--;
    let next;
    if (node.length === 17) {
      if (path.length === 0) { need(i + 1 === proof.length, 'the proof has nodes too many'); return node[16].length ? node[16] : null; }
      next = node[path[0]]; path = path.slice(1);
    } else {
      need(node.length === 2 && !Array.isArray(node[0]) && node[0].length > 0, 'a node of the proof is malformed');
      const n = nibbles(node[0]), part = n.slice(n[0] & 1 ? 1 : 2), fits = part.every((x, k) => x === path[k]) && part.length <= path.length;
      need(n[0] < 4, 'a node of the proof is malformed');
      if (n[0] >= 2) { need(i + 1 === proof.length, 'the proof has nodes too many'); return fits && part.length === path.length ? node[1] : null; }
      if (!fits) { need(i + 1 === proof.length, 'the proof has nodes too many'); return null; }
      next = node[1]; path = path.slice(part.length);
    }
    if (Array.isArray(next)) { inline = next; continue; }
    if (next.length === 0) { need(i + 1 === proof.length, 'the proof has nodes too many'); return null; }
    need(next.length === 32, 'a node of the proof is malformed');
    want = next; inline = null;
  }
}

// The block inside a proposer's block: what it wraps, and the bytes that its ID is the hash of.
function unwrap(b) {
  const v = new DataView(b.buffer, b.byteOffset, b.length), u32 = (at) => { need(at + 4 <= b.length, 'the block ends too early'); return v.getUint32(at); };
  need(b.length > 6 && v.getUint16(0) === 0, 'this is no block');
  let at = 6 + 32, unsigned = b.length;
  const kind = v.getUint32(2);
  need(kind === 0 || kind === 1, 'this is no block');
  if (kind === 0) { at += 16; at += 4 + u32(at); }
  const n = u32(at), inner = b.subarray(at + 4, at + 4 + n);
  need(inner.length === n, 'the block ends too early');
  if (kind === 0) { unsigned = at + 4 + n; need(b.length === unsigned + 4 + u32(unsigned), 'the block ends too early'); }
  else need(b.length === at + 4 + n, 'bytes follow the block');
  return {inner, id: hash('sha256', b.subarray(0, unsigned))};
}

// The header of the block with this ID: of the bytes of a header or block, or of a proposer's block around one.
function headerOf(bytes, id) {
  const headerIn = (b) => { const x = whole(b); if (!Array.isArray(x[0])) return b; const inside = rlp(b, b[0] > 0xf7 ? 1 + b[0] - 0xf7 : 1); return b.subarray(b[0] > 0xf7 ? 1 + b[0] - 0xf7 : 1, inside.end); };
  let header;
  if (bytes[0] >= 0xc0) { header = headerIn(bytes); need(same(hash('keccak', header), id), 'the block is not the one of the certificate'); }
  else { const w = unwrap(bytes); need(same(w.id, id), 'the block is not the one of the certificate'); header = headerIn(w.inner); }
  const fields = whole(header);
  need(fields.length >= 15 && fields[3].length === 32 && fields[5].length === 32, 'the header is malformed');
  return {hash: hash('keccak', header), stateRoot: fields[3], receiptsRoot: fields[5], number: big(fields[8])};
}
const shortest = (v) => { let h = v.toString(16); if (h.length % 2) h = '0' + h; return v === 0n ? new Uint8Array() : fromHex(h, 'number'); };

// Checks what the proof claims and gives it as rows of text.
function facts(header, p) {
  const list = (x) => { need(Array.isArray(x), 'the proof has no list of nodes'); return x.map((n) => fromHex(String(n), 'Proof')); }, rows = [['Block', group(header.number)], ['Block hash', toHex(header.hash)]];
  if (p.receiptProof) {
    const i = BigInt(p.index ?? p.transactionIndex), key = i === 0n ? Uint8Array.of(0x80) : i < 128n ? shortest(i) : Uint8Array.from([0x80 + shortest(i).length, ...shortest(i)]);
    const got = prove(header.receiptsRoot, key, list(p.receiptProof));
    need(got, 'there is no such receipt');
    const r = whole(got[0] < 0x80 ? got.subarray(1) : got);
    need(r.length === 4, 'the receipt is malformed');
    return [...rows, ['Receipt', group(i)], ['Status', r[0].length === 32 ? 'state root' : big(r[0]) === 1n ? 'Success' : 'Reverted'], ['Logs', String(r[3].length)]];
  }
  const address = fromHex(String(p.address), 'address');
  need(address.length === 20, 'address: not 20 bytes');
  const value = prove(header.stateRoot, hash('keccak', address), list(p.accountProof)), a = value ? whole(value) : null;
  need(!a || a.length >= 4, 'the account is malformed');
  const claim = (name, is) => { if (p[name] !== undefined) need(BigInt(p[name]) === is, `the account's ${name} is another one: ${is}`); };
  const nonce = a ? big(a[0]) : 0n, balance = a ? big(a[1]) : 0n;
  claim('nonce', nonce); claim('balance', balance);
  if (a && p.codeHash) claim('codeHash', big(a[3]));
  rows.push(['Account', toHex(address)], ['Exists', a ? 'Yes' : 'No'], ['Balance', group(balance)], ['Nonce', group(nonce)]);
  for (const s of p.storageProof ?? []) {
    const key = shortest(BigInt(s.key)), slot = new Uint8Array(32);
    slot.set(key, 32 - key.length);
    const raw = a ? prove(a[2], hash('keccak', slot), list(s.proof)) : null, v = raw ? big(whole(raw)) : 0n;
    need(s.value === undefined || BigInt(s.value) === v, `storage ${s.key} is another one: 0x${v.toString(16)}`);
    rows.push([`Storage 0x${BigInt(s.key).toString(16)}`, '0x' + v.toString(16)]);
  }
  return rows;
}

// --- the page
let last = null;
function show(id, rows) {
  $(id).replaceChildren(...rows.flatMap(([k, v]) => { const t = document.createElement('dt'), d = document.createElement('dd'); t.textContent = k; d.textContent = v; d.className = v.startsWith('0x') ? 'mono any' : 'any'; return [t, d]; }));
}
function say(state, title, why) {
  $('verdict').dataset.state = state;
  $('lamp').className = 'lamp big' + ({final: ' full', 'bls-final': ' half'}[state] ?? '');
  $('said').textContent = title; $('why').textContent = why;
}
async function input(name) {
  const file = $(`${name}-file`).files[0];
  if (!file) return fromHex($(name).value, name);
  need(file.size <= 64 << 20, `${name}: the file is too large`);
  const b = new Uint8Array(await file.arrayBuffer());
  return b.length && b.every((x) => x < 0x80 && (x >= 0x20 || x === 10 || x === 13 || x === 9)) ? fromHex(new TextDecoder().decode(b), name) : b;
}
const when = (ns) => new Date(Number(ns / 1000000n)).toISOString().replace('T', ' ').replace(/\.\d+Z$/, ' UTC');

async function run() {
  last = null; $('facts').replaceChildren();
  say('busy', 'Checking', 'A year of set changes takes a second or two.');
  await new Promise((done) => setTimeout(done, 0));
  try {
    await ready;
    const [checkpoint, certificate, changes] = [await input('checkpoint'), await input('certificate'), await input('changes')];
    need(checkpoint.length, 'There is no checkpoint.'); need(certificate.length, 'There is no certificate.');
    const f = check(checkpoint, certificate, changes, $('chain').value.trim()), c = f.cert;
    last = f;
    show('says', [['Type', `${c.type}, ${TYPES[c.type]}`], ['Block', toHex(c.block)], ['P-Chain height', group(c.height)], ['Block time', when(c.time)],
      ['Signers', `${c.signers} of ${f.validators}`], ['Weight', `${group(c.weight)} of ${group(c.total)}`]]);
    show('trust', [['Checkpoint', toHex(f.sum)], ['Network', String(f.network)], ['Epoch now', group(f.epoch)], ['Set changes', group(f.changes)]]);
    const took = `Checked in ${f.ms.toFixed(1)} ms, ${f.verifyMs.toFixed(1)} ms of it for the signatures; nothing of it was sent anywhere.`;
    const weak = f.quantum ? '' : ' A set change on the way is signed by BLS alone, which a quantum computer could forge.';
    if (f.state === 'final') say('final', 'Final', `Signed by ${TYPES[c.type]}, and every signature holds. ${took}`);
    else if (f.state === 'bls-final') say('bls-final', 'Final by BLS alone', `The signatures hold.${weak || ' No signature stands beside BLS that a quantum computer cannot forge.'} ${took}`);
    else say('threshold', 'Not final', `The threshold signature holds, but two thirds of the weight have not signed by BLS. ${took}`);
    $('verdict').dataset.verify = f.verifyMs.toFixed(3); $('verdict').dataset.all = f.ms.toFixed(3);
  } catch (e) {
    say(e instanceof Refused ? 'refused' : 'error', e instanceof Refused ? 'Refused' : 'Not checked', e instanceof Refused ? `The ${e.of}: ${e.message}.` : e.message);
    $('verdict').dataset.reason = e.reason ?? '';
  }
}

async function rpc(node, method, params) {
  const answer = await fetch(new URL('/v1/info', node), {method: 'POST', headers: {'content-type': 'application/json'}, credentials: 'omit',
    body: JSON.stringify({jsonrpc: '2.0', id: 1, method, params})});
  const o = await answer.json();
  need(!o.error, `the node says: ${String(o.error?.message).slice(0, 200)}`);
  return o.result;
}
async function fetchAll() {
  try {
    await ready;
    const checkpoint = await input('checkpoint');
    need(checkpoint.length, 'There is no checkpoint.');
    good('checkpoint', wasm.open(...put(checkpoint)));
    const epoch = String(BigInt.asUintN(64, wasm.epoch())), node = $('node').value;
    const which = $('height').value.trim(), isHeight = /^[0-9]{1,20}$/.test(which), id = isHeight ? null : fromHex(which, 'ID of the block');
    const got = await rpc(node, 'info.getFinalityCertificate', {chain: $('chain').value.trim(), ...(isHeight ? {height: which} : {blockID: toHex(id)})});
    const changes = await rpc(node, 'info.getFinalityChanges', {epoch});
    $('certificate-file').value = ''; $('changes-file').value = '';
    $('certificate').value = String(got.certificate); $('changes').value = String(changes.changes);
    await run();
    if (last && id && !same(id, last.cert.block)) { last = null; say('refused', 'Refused', 'The node gave the certificate of another block.'); }
    if (last && isHeight) $('why').textContent += ` That its height is ${group(which)} is the node’s word: compare the ID.`;
  } catch (e) { say('error', 'Not checked', e instanceof Refused ? `The ${e.of}: ${e.message}.` : e.message); }
}

async function runProof() {
  try {
    need(last && last.state === 'final', 'The block has to be final first.');
    show('facts', facts(headerOf(fromHex($('block').value, 'Block'), last.cert.block), (({result, ...o}) => result ?? o)(JSON.parse($('proof').value))));
    $('facts').dataset.state = 'good';
  } catch (e) { show('facts', [['Refused', e.message]]); $('facts').dataset.state = 'refused'; }
}
for (const [id, what] of [['ask', run], ['fetch', fetchAll], ['proofs', runProof]]) $(id).addEventListener('submit', (e) => { e.preventDefault(); what(); });
for (const id of ['checkpoint', 'certificate', 'changes']) $(`${id}-file`).addEventListener('change', () => { if ($(`${id}-file`).files.length) $(id).value = ''; });
ready.catch((e) => say('error', 'Not checked', `WebAssembly does not run here: ${e.message}`));
