// Checks the outcome of a sealed auction in the reader's own browser: the bids are those of the log, the price is what the
// second bidder's commitment opens to, and one aggregated Bulletproof says that nobody bid more than the winner was worth.
// On a page it starts itself as a Worker and shows what comes of it; as a Worker it computes. No dependencies.
'use strict';
const P = 2n ** 255n - 19n, L = 2n ** 252n + 27742317777372353535851937790883648493n;
const mod = (a, m = P) => { const r = a % m; return r < 0n ? r + m : r; };
const pow = (b, e, m = P) => { let r = 1n; for (b = mod(b, m); e > 0n; e >>= 1n, b = b * b % m) if (e & 1n) r = r * b % m; return r; };
const inv = (a, m = P) => { let [x, y, u, v] = [mod(a, m), m, 1n, 0n]; while (x > 1n) { const q = y / x; [y, x, v, u] = [x, y - q * x, u, v - q * u]; } return mod(u, m); };
const D = mod(-121665n * inv(121666n)), I = pow(2n, (P - 1n) / 4n), odd = (a) => (a & 1n) === 1n;
const le = (b) => { let r = 0n; for (let i = b.length - 1; i >= 0; i--) r = r << 8n | BigInt(b[i]); return r; };
const bytes = (v, n) => { const o = new Uint8Array(n); for (let i = 0; i < n; i++, v >>= 8n) o[i] = Number(v & 255n); return o; };
const hex = (s) => { if (!/^([0-9a-f]{2})*$/.test(s)) throw Error('not hexadecimal'); return Uint8Array.from(s.match(/../g) || [], (x) => parseInt(x, 16)); };
const text = (s) => new TextEncoder().encode(s);
const cat = (...a) => { const o = new Uint8Array(a.reduce((n, x) => n + x.length, 0)); let i = 0; for (const x of a) { o.set(x, i); i += x.length; } return o; };
const need = (ok, why) => { if (!ok) throw Error(why); };

// --- Keccak-f[1600], SHA3-512, SHAKE256, SHA-256
const RC = [], ROT = [];
for (let i = 0, r = 1; i < 24; i++) { let v = 0n; for (let j = 0; j < 7; j++) { if (r & 1) v |= 1n << ((1n << BigInt(j)) - 1n); r = r << 1 ^ (r >> 7) * 0x171; } RC.push([Number(v & 0xffffffffn), Number(v >> 32n)]); }
for (let x = 1, y = 0, t = 0; t < 24; t++) { ROT[x + 5 * y] = (t + 1) * (t + 2) / 2 % 64; [x, y] = [y, (2 * x + 3 * y) % 5]; }
ROT[0] = 0;
const rotl = (lo, hi, n) => n === 0 ? [lo, hi] : n === 32 ? [hi, lo] : n < 32 ? [lo << n | hi >>> 32 - n, hi << n | lo >>> 32 - n] : [hi << n - 32 | lo >>> 64 - n, lo << n - 32 | hi >>> 64 - n];
function keccakf(state) {
  const s = new Int32Array(state.buffer), c = new Int32Array(10), b = new Int32Array(50);
  for (let round = 0; round < 24; round++) {
    for (let x = 0; x < 10; x++) c[x] = s[x] ^ s[x + 10] ^ s[x + 20] ^ s[x + 30] ^ s[x + 40];
    for (let x = 0; x < 5; x++) {
      const n = 2 * ((x + 1) % 5), p = 2 * ((x + 4) % 5), [lo, hi] = rotl(c[n], c[n + 1], 1);
      for (let y = 0; y < 50; y += 10) { s[2 * x + y] ^= c[p] ^ lo; s[2 * x + 1 + y] ^= c[p + 1] ^ hi; }
    }
    for (let x = 0; x < 5; x++) for (let y = 0; y < 5; y++) {
      const at = 2 * (x + 5 * y), to = 2 * (y + 5 * ((2 * x + 3 * y) % 5));
      [b[to], b[to + 1]] = rotl(s[at], s[at + 1], ROT[x + 5 * y]);
    }
    for (let y = 0; y < 50; y += 10) for (let x = 0; x < 10; x++) s[x + y] = b[x + y] ^ ~b[(x + 2) % 10 + y] & b[(x + 4) % 10 + y];
    s[0] ^= RC[round][0]; s[1] ^= RC[round][1];
  }
}
function sponge(rate, suffix, data, n) {
  const st = new Uint8Array(200), out = new Uint8Array(n);
  let at = 0;
  for (const d of data) { st[at++] ^= d; if (at === rate) { keccakf(st); at = 0; } }
  st[at] ^= suffix; st[rate - 1] ^= 0x80; keccakf(st);
  for (let i = 0; i < n; i += rate) { out.set(st.subarray(0, Math.min(rate, n - i)), i); if (i + rate < n) keccakf(st); }
  return out;
}
const PRIMES = []; for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((p) => n % p)) PRIMES.push(n);
const frac = (x) => (x - Math.floor(x)) * 2 ** 32 | 0;
function sha256(data) {
  const h = PRIMES.slice(0, 8).map((p) => frac(Math.sqrt(p))), w = new Int32Array(64), r = (x, n) => x >>> n | x << 32 - n;
  const m = new Uint8Array((data.length + 72 >> 6) * 64); m.set(data); m[data.length] = 0x80;
  new DataView(m.buffer).setBigUint64(m.length - 8, BigInt(data.length * 8));
  const v = new DataView(m.buffer);
  for (let at = 0; at < m.length; at += 64) {
    for (let i = 0; i < 64; i++) w[i] = i < 16 ? v.getInt32(at + 4 * i) : (r(w[i - 2], 17) ^ r(w[i - 2], 19) ^ w[i - 2] >>> 10) + w[i - 7] + (r(w[i - 15], 7) ^ r(w[i - 15], 18) ^ w[i - 15] >>> 3) + w[i - 16];
    let [a, b, c, d, e, f, g, k] = h;
    for (let i = 0; i < 64; i++) {
      const t = k + (r(e, 6) ^ r(e, 11) ^ r(e, 25)) + (e & f ^ ~e & g) + frac(Math.cbrt(PRIMES[i])) + w[i] | 0, u = (r(a, 2) ^ r(a, 13) ^ r(a, 22)) + (a & b ^ a & c ^ b & c) | 0;
      [a, b, c, d, e, f, g, k] = [t + u | 0, a, b, c, d + t | 0, e, f, g];
    }
    [a, b, c, d, e, f, g, k].forEach((x, i) => { h[i] = h[i] + x | 0; });
  }
  const o = new DataView(new ArrayBuffer(32)); h.forEach((x, i) => o.setInt32(4 * i, x)); return new Uint8Array(o.buffer);
}

// --- ristretto255: points are [X, Y, Z, T]
const ZERO = [0n, 1n, 1n, 0n];
const add = ([a, b, c, d], [e, f, g, h]) => {
  const A = (b - a) * (f - e) % P, B = (b + a) * (f + e) % P, C = 2n * D * (d * h % P) % P, Z = 2n * c * g % P;
  const E = B - A, F = Z - C, G = Z + C, H = B + A;
  return [mod(E * F), mod(G * H), mod(F * G), mod(E * H)];
};
const neg = ([a, b, c, d]) => [mod(-a), b, c, mod(-d)];
const isZero = ([a, b, c, d]) => mod(a * b) === 0n || mod(a) === 0n; // the coset of the identity: X Y = 0
function root(u, v) { // sqrt(u / v), and whether there is one
  const v3 = v * v % P * v % P, x = u * v3 % P * pow(u * v3 % P * v3 % P * v % P, (P - 5n) / 8n) % P, c = v * x % P * x % P;
  const good = c === mod(u), flip = c === mod(-u), flipI = c === mod(-u * I);
  let r = flip || flipI ? x * I % P : x;
  if (odd(r)) r = mod(-r);
  return [good || flip, r];
}
function decode(b) {
  const s = le(b); need(b.length === 32 && s < P && !odd(s), 'a point is not one');
  const ss = s * s % P, u1 = mod(1n - ss), u2 = mod(1n + ss), u22 = u2 * u2 % P, v = mod(-(D * u1 % P * u1) - u22);
  const [ok, i] = root(1n, v * u22 % P), dx = i * u2 % P, dy = i * dx % P * v % P;
  let x = mod(2n * s * dx); if (odd(x)) x = mod(-x);
  const y = u1 * dy % P, t = x * y % P;
  need(ok && !odd(t) && y !== 0n, 'a point is not one');
  return [x, y, 1n, t];
}
function encode([X, Y, Z, T]) {
  const u1 = mod((Z + Y) * (Z - Y)), u2 = X * Y % P, [, i] = root(1n, u1 * u2 % P * u2 % P), d1 = i * u1 % P, d2 = i * u2 % P, zi = d1 * d2 % P * T % P;
  const rot = odd(T * zi % P);
  let x = rot ? Y * I % P : X, y = rot ? X * I % P : Y;
  const d = rot ? d1 * root(1n, mod(-1n - D))[1] % P : d2;
  if (odd(x * zi % P)) y = mod(-y);
  const s = mod(d * (Z - y)); return bytes(odd(s) ? mod(-s) : s, 32);
}
const ONEMD = mod(1n - D * D), DM1 = mod((D - 1n) * (D - 1n));
function elligator(t) {
  const r = I * t % P * t % P, u = mod((r + 1n) * ONEMD), c0 = P - 1n, v = mod((c0 - r * D) * (r + D));
  let [ok, s] = root(u, v), c = c0;
  if (!ok) { s = s * t % P; if (!odd(s)) s = mod(-s); c = r; }
  const n = mod(c * (r - 1n) % P * DM1 - v), w0 = 2n * s * v % P, w1 = n * SQ % P, w2 = mod(1n - s * s), w3 = mod(1n + s * s);
  return [w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P];
}
const SQ = mod(-root(mod(-D - 1n), 1n)[1]); // sqrt(a d - 1), the odd one
const fromHash = (b) => add(elligator(mod(le(b.subarray(0, 32)) & (1n << 255n) - 1n)), elligator(mod(le(b.subarray(32, 64)) & (1n << 255n) - 1n)));
const BASE = decode(hex('e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76'));
const BLIND = fromHash(sponge(72, 6, encode(BASE), 64));
function msm(pairs) { // Pippenger: windows of c bits
  const c = pairs.length > 500 ? 8 : pairs.length > 40 ? 6 : 4, mask = (1n << BigInt(c)) - 1n;
  let sum = ZERO;
  for (let at = Math.ceil(253 / c) * c; at >= 0; at -= c) {
    for (let i = 0; i < c; i++) sum = add(sum, sum);
    const bucket = [];
    for (const [k, p] of pairs) { const d = Number(k >> BigInt(at) & mask); if (d) bucket[d] = bucket[d] ? add(bucket[d], p) : p; }
    let run = ZERO, all = ZERO;
    for (let d = (1 << c) - 1; d > 0; d--) { if (bucket[d]) run = add(run, bucket[d]); all = add(all, run); }
    sum = add(sum, all);
  }
  return sum;
}

// --- Merlin transcripts over STROBE-128
class Transcript {
  constructor(label) {
    this.s = new Uint8Array(200); this.s.set([1, 168, 1, 0, 1, 96]); this.s.set(text('STROBEv1.0.2'), 6); keccakf(this.s);
    this.at = this.begin = 0; this.op(0x12, text('Merlin v1.0')); this.put('dom-sep', text(label));
  }
  run() { this.s[this.at] ^= this.begin; this.s[this.at + 1] ^= 4; this.s[167] ^= 0x80; keccakf(this.s); this.at = this.begin = 0; }
  absorb(d) { for (const b of d) { this.s[this.at++] ^= b; if (this.at === 166) this.run(); } }
  op(flags, d, more) {
    if (!more) { const old = this.begin; this.begin = this.at + 1; this.absorb([old, flags]); if (flags & 0x24 && this.at) this.run(); }
    if (flags !== 7) return this.absorb(d);
    for (let i = 0; i < d.length; i++) { d[i] = this.s[this.at]; this.s[this.at++] = 0; if (this.at === 166) this.run(); }
  }
  head(label, n) { this.op(0x12, text(label)); this.op(0x12, bytes(BigInt(n), 4), true); }
  put(label, d) { this.head(label, d.length); this.op(2, d); }
  num(label, v) { this.put(label, bytes(BigInt(v), 8)); }
  draw(label) { const d = new Uint8Array(64); this.head(label, 64); this.op(7, d); return mod(le(d), L); }
}

// --- Bulletproofs: V are encoded commitments, 64 bits each
function generators(kind, m) {
  const out = [];
  for (let j = 0; j < m; j++) { const s = sponge(136, 0x1f, cat(text('GeneratorsChain'), text(kind), bytes(BigInt(j), 4)), 4096); for (let i = 0; i < 64; i++) out.push(fromHash(s.subarray(64 * i, 64 * i + 64))); }
  return out;
}
function rangeproof(t, V, proof) {
  const m = V.length, nm = 64 * m, lg = Math.log2(nm); need(proof.length === 32 * (9 + 2 * lg), 'the proof has another length');
  const part = (i) => proof.subarray(32 * i, 32 * i + 32), scalar = (i) => { const v = le(part(i)); need(v < L, 'a scalar is not one'); return v; };
  const point = (i) => { need(part(i).some((x) => x), 'a point is the identity'); return decode(part(i)); };
  const [A, S, T1, T2] = [0, 1, 2, 3].map(point), [tx, tb, eb] = [4, 5, 6].map(scalar), a = scalar(7 + 2 * lg), b = scalar(8 + 2 * lg);
  t.put('dom-sep', text('rangeproof v1')); t.num('n', 64); t.num('m', m); for (const v of V) t.put('V', v);
  t.put('A', part(0)); t.put('S', part(1)); const y = t.draw('y'), z = t.draw('z');
  t.put('T_1', part(2)); t.put('T_2', part(3)); const x = t.draw('x');
  t.put('t_x', part(4)); t.put('t_x_blinding', part(5)); t.put('e_blinding', part(6)); const w = t.draw('w');
  t.put('dom-sep', text('ipp v1')); t.num('n', nm);
  const u = [], pairs = [], q = (v) => mod(v, L);
  for (let k = 0; k < lg; k++) { t.put('L', part(7 + 2 * k)); t.put('R', part(8 + 2 * k)); u.push(t.draw('u')); }
  const c = mod(le(crypto.getRandomValues(new Uint8Array(40))), L), ui = u.map((v) => inv(v, L)), yi = inv(y, L);
  for (let k = 0; k < lg; k++) pairs.push([q(u[k] * u[k]), point(7 + 2 * k)], [q(ui[k] * ui[k]), point(8 + 2 * k)]);
  const s = [ui.reduce((p, v) => q(p * v), 1n)];
  for (let i = 1; i < nm; i++) { const k = Math.floor(Math.log2(i)); s.push(q(s[i - (1 << k)] * q(u[lg - 1 - k] * u[lg - 1 - k]))); }
  const G = generators('G', m), H = generators('H', m);
  let yp = 1n, sum = 0n, zj = q(z * z), delta = 0n;
  for (let i = 0, yn = 1n; i < nm; i++, yn = q(yn * yi)) {
    if (i && i % 64 === 0) zj = q(zj * z);
    pairs.push([q(-z - a * s[i]), G[i]], [q(z + yn * q(zj * (1n << BigInt(i % 64)) - b * s[nm - 1 - i])), H[i]]);
    sum += yp; yp = q(yp * y);
  }
  delta = q((z - z * z) * q(sum)); zj = q(z * z * z);
  let zv = q(z * z);
  for (let j = 0; j < m; j++, zj = q(zj * z), zv = q(zv * z)) { delta = q(delta - zj * ((1n << 64n) - 1n)); pairs.push([q(c * zv), decode(V[j])]); }
  pairs.push([1n, A], [x, S], [q(c * x), T1], [q(c * x * x), T2], [q(-(eb + c * tb)), BLIND], [q(w * (tx - a * b) + c * (delta - tx)), BASE]);
  need(isZero(msm(pairs)), 'the proof does not hold');
}

// --- the outcome of an auction
function verify(o) {
  const id = hex(o.auction_id), reserve = BigInt(o.reserve), price = BigInt(o.clearing_price ?? o.reserve), nobody = (1n << 64n) - 1n;
  need(id.length === 32 && reserve < 1n << 64n && price < 1n << 64n, 'a number is out of range');
  let h = sha256(cat(text('adx/bidlog/v1'), id));
  o.bids.forEach((b, i) => { need(b.seq === i, 'the bids are not in order'); const name = text(b.bidder_id); h = sha256(cat(h, bytes(BigInt(name.length), 4).reverse(), name, hex(b.commitment), hex(b.proof_sha256))); });
  need(hex(o.log_head).every((x, i) => x === h[i]), 'the bids are not those of the log');
  const gone = new Set(o.forfeited), isVoid = o.status === 'void', C = o.bids.map((b) => decode(hex(b.commitment)));
  const w = isVoid ? null : o.winner_seq, s = o.second_seq, list = [], of = (v) => msm([[mod(v, L), BASE]]);
  if (isVoid) C.forEach((c, i) => gone.has(i) || list.push(add(of(reserve - 1n), neg(c))));
  else {
    need(w in C && !gone.has(w) && o.winner_id === o.bids[w].bidder_id && price >= reserve, 'the winner is none');
    list.push(add(C[w], neg(of(price))));
    if (s !== null) {
      need(s in C && s !== w && !gone.has(s), 'the second is none');
      need(isZero(add(add(of(price), msm([[le(hex(o.second_blinding)), BLIND]])), neg(C[s]))), 'the price is not what the second bid opens to');
    } else need(price === reserve, 'the price is nobody’s');
    C.forEach((c, i) => i === w || i === s || gone.has(i) || list.push(add(of(price), neg(c))));
  }
  if (!list.length) list.push(ZERO);
  const V = list.map(encode), proof = hex(o.proof), parts = Math.ceil(V.length / 32);
  let at = 0;
  for (let k = 0; k < parts; k++) {
    const v = V.slice(32 * k, 32 * k + 32); while (v.length & v.length - 1) v.push(new Uint8Array(32));
    const n = 32 * (9 + 2 * Math.log2(64 * v.length)), t = new Transcript('adx/outcome/v1');
    t.put('auction', id); t.put('bidlog', h); t.num('reserve', reserve); t.num('price', price);
    t.num('winner', isVoid ? nobody : w); t.num('second', s === null ? nobody : s); if (parts > 1) t.num('part', k);
    rangeproof(t, v, proof.subarray(at, at + n)); at += n;
  }
  need(at === proof.length, 'the proof is longer than it should be');
}

if (typeof document === 'undefined') {
  onmessage = ({data}) => { try { verify(JSON.parse(data)); postMessage({valid: true}); } catch (e) { postMessage({valid: false, reason: e.message}); } };
} else {
  for (const button of document.querySelectorAll('[data-verify]')) {
    const said = document.getElementById(button.dataset.says), script = document.querySelector('script[src*="verify-"]').src;
    button.hidden = false;
    button.onclick = async () => {
      button.disabled = true; said.textContent = 'Checking in this browser.';
      const began = performance.now(), worker = new Worker(script);
      worker.onmessage = ({data}) => { said.textContent = data.valid ? `Valid: checked by this browser in ${((performance.now() - began) / 1000).toFixed(1)} s.` : `Not valid: ${data.reason}.`; said.dataset.valid = data.valid; button.disabled = false; worker.terminate(); };
      worker.onerror = () => { said.textContent = 'This browser cannot check it.'; };
      worker.postMessage(await (await fetch(button.dataset.verify)).text());
    };
  }
}
if (typeof module !== 'undefined') module.exports = {verify};
