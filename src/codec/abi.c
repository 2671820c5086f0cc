#include "codec/abi.h"

#include "crypto/hash/keccak.h"

enum { WORD = 32 };

/* --- types from text --- */

/* The text of a type, of which the bytes from `at` on are still to be read. */
typedef struct parser {
    cd_arena *arena;
    cd_bytes text;
    usize at;
} parser;

static bool accept(parser *p, char c)
{
    if (p->at < p->text.n && p->text.p[p->at] == (u8)c) {
        p->at++;
        return true;
    }
    return false;
}

static bool accept_word(parser *p, const char *word)
{
    usize n = strlen(word);
    if (p->text.n - p->at < n || memcmp(p->text.p + p->at, word, n) != 0) {
        return false;
    }
    p->at += n;
    return true;
}

/* Reads up to seven digits without a leading zero; false when there are none. */
static bool accept_number(parser *p, u32 *out)
{
    u32 v = 0;
    usize start = p->at;
    while (p->at < p->text.n && p->at - start < 7 && p->text.p[p->at] >= '0' && p->text.p[p->at] <= '9') {
        v = v * 10 + (u32)(p->text.p[p->at++] - '0');
    }
    if (p->at == start || p->text.p[start] == '0') {
        p->at = start;
        return false;
    }
    *out = v;
    return true;
}

static cd_err parse_type(parser *p, cd_abi_type *out, int depth);

/* Reads the members of a tuple; p stands behind its opening bracket. */
static cd_err parse_members(parser *p, cd_abi_type *out, int depth)
{
    enum { MEMBERS_MAX = 64 };
    cd_abi_type members[MEMBERS_MAX];
    usize cnt = 0;
    usize head = 0;
    bool is_dynamic = false;
    if (!accept(p, ')')) {
        do {
            if (cnt == MEMBERS_MAX) {
                return CD_ELIMIT;
            }
            CD_TRY(parse_type(p, &members[cnt], depth + 1));
            head += members[cnt].head;
            is_dynamic |= members[cnt].is_dynamic;
            cnt++;
        } while (accept(p, ','));
        if (!accept(p, ')')) {
            return CD_EFORMAT;
        }
    }
    cd_abi_type *inner = cd_arena_array(p->arena, cd_abi_type, cnt);
    memcpy(inner, members, cnt * sizeof *inner);
    *out = (cd_abi_type){
        .kind = CD_ABI_TUPLE,
        .is_dynamic = is_dynamic,
        .head = is_dynamic ? WORD : head,
        .cnt = cnt,
        .inner = inner,
    };
    return CD_OK;
}

/* Reads a type that is no tuple, without array suffixes. */
static cd_err parse_simple(parser *p, cd_abi_type *out)
{
    cd_abi_type t = {.head = WORD};
    u32 n;
    if (accept_word(p, "address")) {
        t.kind = CD_ABI_ADDRESS;
        t.size = 160;
    } else if (accept_word(p, "bool")) {
        t.kind = CD_ABI_BOOL;
        t.size = 1;
    } else if (accept_word(p, "string")) {
        t.kind = CD_ABI_STRING;
        t.is_dynamic = true;
    } else if (accept_word(p, "function")) {
        t.kind = CD_ABI_FIXED;
        t.size = 24;
    } else if (accept_word(p, "bytes")) {
        t.is_dynamic = !accept_number(p, &n);
        t.kind = t.is_dynamic ? CD_ABI_BYTES : CD_ABI_FIXED;
        t.size = t.is_dynamic ? 0 : n;
        if (t.size > WORD) {
            return CD_EFORMAT;
        }
    } else if (accept_word(p, "uint") || accept_word(p, "int")) {
        t.kind = p->at >= 4 && p->text.p[p->at - 4] == 'u' ? CD_ABI_UINT : CD_ABI_INT;
        t.size = accept_number(p, &n) ? n : 256;
        if (t.size > 256 || t.size % 8 != 0) {
            return CD_EFORMAT;
        }
    } else {
        return CD_EFORMAT;
    }
    *out = t;
    return CD_OK;
}

static cd_err parse_type(parser *p, cd_abi_type *out, int depth)
{
    if (depth > CD_ABI_DEPTH_MAX) {
        return CD_EDEPTH;
    }
    cd_abi_type t;
    if (accept(p, '(')) {
        CD_TRY(parse_members(p, &t, depth));
    } else {
        CD_TRY(parse_simple(p, &t));
    }
    while (accept(p, '[')) {
        if (++depth > CD_ABI_DEPTH_MAX) {
            return CD_EDEPTH;
        }
        cd_abi_type *inner = cd_arena_new(p->arena, cd_abi_type);
        *inner = t;
        u32 n = 0;
        bool is_fixed = accept_number(p, &n);
        /* Elements that take no bytes are refused: input of any length could then claim any count of them. */
        if (!accept(p, ']') || inner->head == 0) {
            return CD_EFORMAT;
        }
        if (is_fixed && (n > CD_ABI_ARRAY_MAX || inner->head > (usize)CD_ABI_ARRAY_MAX * WORD / n)) {
            return CD_ELIMIT;
        }
        t = (cd_abi_type){
            .kind = is_fixed ? CD_ABI_ARRAY : CD_ABI_SLICE,
            .is_dynamic = !is_fixed || inner->is_dynamic,
            .cnt = is_fixed ? n : 0,
            .inner = inner,
        };
        t.head = t.is_dynamic ? WORD : n * inner->head;
    }
    *out = t;
    return CD_OK;
}

cd_err cd_abi_parse(cd_abi_type *out, cd_arena *a, cd_bytes text, cd_errinfo *why)
{
    parser p = {.arena = a, .text = text};
    cd_abi_type t;
    cd_err e = parse_type(&p, &t, 0);
    if (e == CD_OK && p.at != text.n) {
        e = CD_EFORMAT;
    }
    if (e != CD_OK) {
        return cd_fail(why, e, "ABI type \"%.*s\": %s at character %zu", (int)(text.n > 80 ? 80 : text.n),
                       (const char *)text.p, cd_err_str(e), p.at);
    }
    *out = t;
    return CD_OK;
}

/* --- words --- */

/* Says whether v is a number of the type: its unused high bits are zero, or copies of the sign. */
static bool fits(const cd_abi_type *t, const cd_u256 *v)
{
    if (t->kind == CD_ABI_INT) {
        cd_u256 low = *v;
        cd_u256_signextend(&low, t->size / 8 - 1);
        return cd_u256_eq(&low, v);
    }
    return cd_u256_bits(v) <= t->size;
}

static void put_word(cd_buf *out, const cd_u256 *v)
{
    cd_u256_store_be(cd_buf_extend(out, WORD), v);
}

static void put_size(cd_buf *out, usize n)
{
    cd_u256 v = cd_u256_from_u64(n);
    put_word(out, &v);
}

static void put_padded(cd_buf *out, cd_bytes b)
{
    cd_buf_put(out, b);
    cd_buf_fill(out, 0, (WORD - b.n % WORD) % WORD);
}

/* --- encoding --- */

/* Gives the type of the i-th member of a tuple, or of the elements of an array. */
static const cd_abi_type *member(const cd_abi_type *t, usize i)
{
    return t->kind == CD_ABI_TUPLE ? &t->inner[i] : t->inner;
}

static cd_err enc_value(cd_buf *out, const cd_abi_type *t, const cd_abi_val *v);

/* Appends the heads, then the tails, of the items of v. */
static cd_err enc_sequence(cd_buf *out, const cd_abi_type *t, const cd_abi_val *v)
{
    usize start = out->n;
    usize head = 0;
    for (usize i = 0; i < v->cnt; i++) {
        head += member(t, i)->head;
    }
    cd_buf_fill(out, 0, head);
    usize at = start;
    for (usize i = 0; i < v->cnt; i++) {
        const cd_abi_type *m = member(t, i);
        usize tail = out->n;
        CD_TRY(enc_value(out, m, &v->items[i]));
        if (m->is_dynamic) {
            cd_u256 offset = cd_u256_from_u64(tail - start);
            cd_u256_store_be(out->p + at, &offset);
        } else if (m->head != 0) {
            /* A static value was appended behind the tails; it is moved to its place in the head. */
            memcpy(out->p + at, out->p + tail, m->head);
            out->n = tail;
        }
        at += m->head;
    }
    return CD_OK;
}

/* Appends a value as it stands in a tail (dynamic) or a head (static). */
static cd_err enc_value(cd_buf *out, const cd_abi_type *t, const cd_abi_val *v)
{
    switch (t->kind) {
    case CD_ABI_UINT:
    case CD_ABI_INT:
    case CD_ABI_ADDRESS:
    case CD_ABI_BOOL:
        if (!fits(t, &v->num)) {
            return CD_ERANGE;
        }
        put_word(out, &v->num);
        return CD_OK;
    case CD_ABI_FIXED:
        if (v->bytes.n != t->size) {
            return CD_ERANGE;
        }
        put_padded(out, v->bytes);
        return CD_OK;
    case CD_ABI_BYTES:
    case CD_ABI_STRING:
        put_size(out, v->bytes.n);
        put_padded(out, v->bytes);
        return CD_OK;
    case CD_ABI_SLICE:
        put_size(out, v->cnt);
        return enc_sequence(out, t, v);
    case CD_ABI_ARRAY:
    case CD_ABI_TUPLE:
        return v->cnt == t->cnt ? enc_sequence(out, t, v) : CD_EINVAL;
    }
    CD_UNREACHABLE();
}

cd_err cd_abi_enc(cd_buf *out, const cd_abi_type *type, const cd_abi_val *val)
{
    usize start = out->n;
    cd_err e = enc_value(out, type, val);
    if (e != CD_OK) {
        out->n = start;
    }
    return e;
}

/* --- decoding --- */

/* budget: bytes of input that sequences behind offsets may still take. Honest tails do not overlap,
 * so together they are no longer than the input. */
typedef struct decoder {
    cd_arena *arena;
    usize budget;
} decoder;

/* Reads the word at `at`. */
static cd_err get_word(cd_u256 *out, cd_bytes in, usize at)
{
    if (at > in.n || in.n - at < WORD) {
        return CD_ESHORT;
    }
    cd_u256_load_be(out, in.p + at);
    return CD_OK;
}

/* Reads an offset or a length: a word that is at most max. */
static cd_err get_size(usize *out, cd_bytes in, usize at, usize max)
{
    cd_u256 v;
    CD_TRY(get_word(&v, in, at));
    if (!cd_u256_fits_u64(&v) || v.w[0] > max) {
        return CD_ERANGE;
    }
    *out = v.w[0];
    return CD_OK;
}

static cd_err get_padded(cd_bytes *out, cd_bytes in, usize at, usize n)
{
    usize padded = (n + WORD - 1) / WORD * WORD;
    if (at > in.n || in.n - at < padded) {
        return CD_ESHORT;
    }
    for (usize i = n; i < padded; i++) {
        if (in.p[at + i] != 0) {
            return CD_ECANON;
        }
    }
    *out = cd_bytes_sub(in, at, n);
    return CD_OK;
}

static cd_err dec_value(decoder *d, cd_abi_val *out, const cd_abi_type *t, cd_bytes in, usize at);

/* Gives the bytes that the heads of cnt members take; false when they are more than left. */
static bool heads_size(usize *out, const cd_abi_type *t, usize cnt, usize left)
{
    usize n = 0;
    if (t->kind == CD_ABI_TUPLE) {
        for (usize i = 0; i < cnt; i++) {
            n += t->inner[i].head;
        }
    } else if (__builtin_mul_overflow(cnt, t->inner->head, &n)) {
        return false;
    }
    *out = n;
    return n <= left;
}

/* Reads cnt values whose heads start at `at`; their offsets are counted from there. */
static cd_err dec_sequence(decoder *d, cd_abi_val *out, const cd_abi_type *t, usize cnt, cd_bytes in, usize at)
{
    usize size;
    if (at > in.n || !heads_size(&size, t, cnt, in.n - at)) {
        return CD_ESHORT;
    }
    if (t->is_dynamic) {
        if (size > d->budget) {
            return CD_ELIMIT;
        }
        d->budget -= size;
    }
    cd_bytes body = cd_bytes_sub(in, at, in.n - at);
    cd_abi_val *items = cd_arena_array(d->arena, cd_abi_val, cnt);
    usize head = 0;
    for (usize i = 0; i < cnt; i++) {
        const cd_abi_type *m = member(t, i);
        usize place = head;
        if (m->is_dynamic) {
            CD_TRY(get_size(&place, body, head, body.n));
        }
        CD_TRY(dec_value(d, &items[i], m, body, place));
        head += m->head;
    }
    out->items = items;
    out->cnt = cnt;
    return CD_OK;
}

/* Reads the value whose head (static) or tail (dynamic) starts at `at`. */
static cd_err dec_value(decoder *d, cd_abi_val *out, const cd_abi_type *t, cd_bytes in, usize at)
{
    usize n;
    switch (t->kind) {
    case CD_ABI_UINT:
    case CD_ABI_INT:
    case CD_ABI_ADDRESS:
    case CD_ABI_BOOL:
        CD_TRY(get_word(&out->num, in, at));
        return fits(t, &out->num) ? CD_OK : CD_ECANON;
    case CD_ABI_FIXED:
        return get_padded(&out->bytes, in, at, t->size);
    case CD_ABI_BYTES:
    case CD_ABI_STRING:
        CD_TRY(get_size(&n, in, at, in.n));
        return get_padded(&out->bytes, in, at + WORD, n);
    case CD_ABI_SLICE:
        CD_TRY(get_size(&n, in, at, in.n));
        return dec_sequence(d, out, t, n, in, at + WORD);
    case CD_ABI_ARRAY:
    case CD_ABI_TUPLE:
        return dec_sequence(d, out, t, t->cnt, in, at);
    }
    CD_UNREACHABLE();
}

cd_err cd_abi_dec(cd_abi_val *out, cd_arena *a, const cd_abi_type *type, cd_bytes in)
{
    decoder d = {.arena = a, .budget = in.n};
    cd_abi_val v = {0};
    if (in.n == 0) {
        in = cd_bytes_str(""); /* not NULL, for the code computes pointers into it */
    }
    CD_TRY(dec_value(&d, &v, type, in, 0));
    *out = v;
    return CD_OK;
}

/* --- selectors and revert reasons --- */

void cd_abi_selector(u8 out[4], const char *signature)
{
    cd_hash32 h;
    cd_keccak256(&h, cd_bytes_str(signature));
    memcpy(out, h.b, 4);
}

static const u8 error_string[4] = {0x08, 0xc3, 0x79, 0xa0};

void cd_abi_error_string(cd_buf *out, cd_bytes reason)
{
    cd_buf_put(out, cd_bytes_of(error_string, 4));
    put_size(out, WORD);
    put_size(out, reason.n);
    put_padded(out, reason);
}

bool cd_abi_reason(cd_bytes *out, cd_bytes data)
{
    if (data.n < 4 || memcmp(data.p, error_string, 4) != 0) {
        return false;
    }
    cd_bytes in = cd_bytes_sub(data, 4, data.n - 4);
    usize at;
    usize n;
    if (get_size(&at, in, 0, in.n) != CD_OK || get_size(&n, in, at, in.n) != CD_OK || n > in.n - at - WORD) {
        return false;
    }
    *out = cd_bytes_sub(in, at + WORD, n);
    return true;
}
