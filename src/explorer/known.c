#include "chains/evmchain/core/revert.h"
#include "codec/abi.h"
#include "crypto/hash/keccak.h"
#include "explorer/explorer_priv.h"
#include "types/fn.h"
#include "types/addr_text.h"

enum { ITEMS_SHOWN = 16, DEPTH_SHOWN = 3 };

static const struct {
    const char *signature;
    const char *args;
    const char *rest;
    u8 indexed;
    cd__known_kind kind;
} rows[] = {
#define F(signature_, args_, rest_) {.signature = (signature_), .args = (args_), .rest = (rest_), .kind = CD__KNOWN_FN},
#define E(signature_, indexed_, args_)                                                                                 \
    {.signature = (signature_), .args = (args_), .indexed = (indexed_), .kind = CD__KNOWN_EVENT},
#define R(signature_, args_) {.signature = (signature_), .args = (args_), .kind = CD__KNOWN_ERROR},
#include "explorer/known.def"
#undef F
#undef E
#undef R
};
_Static_assert(CD_COUNT(rows) <= CD__KNOWN_MAX, "more known signatures than there is room for");

void cd__known_init(cd_explorer *x)
{
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        cd__known *k = &x->known[x->known_cnt++];
        *k = (cd__known){.name = cd_bytes_of(rows[i].signature, strcspn(rows[i].signature, "(")),
                         .signature = rows[i].signature,
                         .args = rows[i].args,
                         .rest = rows[i].rest,
                         .indexed = rows[i].indexed,
                         .kind = rows[i].kind};
        cd_keccak256(&k->hash, cd_bytes_str(k->signature));
    }
}

static const cd__known *find(const cd_explorer *x, cd_bytes data, cd__known_kind kind)
{
    for (usize i = 0; data.n >= 4 && i < x->known_cnt; i++) {
        if (x->known[i].kind == kind && memcmp(x->known[i].hash.b, data.p, 4) == 0) {
            return &x->known[i];
        }
    }
    return data.n < 4 ? NULL : cd__abis_find(x->cfg.abis, kind, data.p);
}

const cd__known *cd__known_call(const cd_explorer *x, cd_bytes data)
{
    return find(x, data, CD__KNOWN_FN);
}

const cd__known *cd__known_event(const cd_explorer *x, const cd_log *log)
{
    for (usize i = 0; log->topic_cnt != 0 && i < x->known_cnt; i++) {
        const cd__known *k = &x->known[i];
        if (k->kind == CD__KNOWN_EVENT && (u32)__builtin_popcount(k->indexed) + 1 == log->topic_cnt &&
            cd_hash32_eq(&k->hash, &log->topics[0])) {
            return k;
        }
    }
    const cd__known *k = log->topic_cnt == 0 ? NULL : cd__abis_find(x->cfg.abis, CD__KNOWN_EVENT, log->topics[0].b);
    return k != NULL && (u32)__builtin_popcount(k->indexed) + 1 == log->topic_cnt ? k : NULL;
}

/* --- arguments --- */

static void items(cd__xp *p, const cd_abi_type *t, const cd_abi_val *v, u32 depth)
{
    cd_html_put(&p->h, "[");
    for (usize i = 0; i < v->cnt && i < ITEMS_SHOWN && depth < DEPTH_SHOWN; i++) {
        cd_html_put(&p->h, "{}", i == 0 ? "" : ", ");
        cd__value_write(p, t->kind == CD_ABI_TUPLE ? &t->inner[i] : t->inner, &v->items[i], depth + 1);
    }
    if (v->cnt > ITEMS_SHOWN || depth >= DEPTH_SHOWN) {
        cd_html_put(&p->h, " … {} in all", (u64)v->cnt);
    }
    cd_html_put(&p->h, "]");
}

void cd__value_write(cd__xp *p, const cd_abi_type *t, const cd_abi_val *v, u32 depth)
{
    const cd_fmt_decimals whole = {0};
    switch (t->kind) {
    case CD_ABI_UINT:
        cd_html_put(&p->h, "{}", cd_fmt_amount(&p->a, &v->num, 0, whole));
        return;
    case CD_ABI_INT: {
        cd_u256 size = v->num;
        if (cd_u256_is_neg(&size)) {
            cd_u256_neg(&size, &size);
            cd_html_put(&p->h, "−");
        }
        cd_html_put(&p->h, "{}", cd_fmt_amount(&p->a, &size, 0, whole));
        return;
    }
    case CD_ABI_ADDRESS: {
        cd_addr20 addr = cd_u256_to_addr(&v->num);
        cd__xp_addr(p, &addr, depth == 0 ? CD_ID_COPY : 0);
        return;
    }
    case CD_ABI_BOOL:
        cd_html_put(&p->h, "{}", cd_u256_is_zero(&v->num) ? "false" : "true");
        return;
    case CD_ABI_FIXED:
    case CD_ABI_BYTES:
        cd_html_put(&p->h, "<span class=\"mono\">{}</span>", cd_foreign_of(cd__xp_hex(p, v->bytes)));
        return;
    case CD_ABI_STRING:
        cd_html_put(&p->h, "{}", cd_foreign_of(v->bytes));
        return;
    case CD_ABI_ARRAY:
    case CD_ABI_SLICE:
    case CD_ABI_TUPLE:
        items(p, t, v, depth);
        return;
    }
    CD_UNREACHABLE();
}

/* The arguments of an event that stand in its data, as a tuple, and all of them. */
static bool event_args(cd__xp *p, const cd__known *k, const cd_log *log, const cd_abi_type *all, cd_abi_val *out)
{
    cd_abi_type *rest = cd_arena_array(&p->a, cd_abi_type, all->cnt);
    cd_abi_type tuple = {.kind = CD_ABI_TUPLE, .inner = rest};
    cd_abi_val decoded;
    cd_abi_val *items_of = cd_arena_array(&p->a, cd_abi_val, all->cnt);
    usize topic = 1;
    for (usize i = 0; i < all->cnt; i++) {
        if ((k->indexed >> i & 1) == 0) {
            rest[tuple.cnt++] = all->inner[i];
            tuple.head += all->inner[i].head;
            tuple.is_dynamic = tuple.is_dynamic || all->inner[i].is_dynamic;
        }
    }
    if (cd_abi_dec(&decoded, &p->a, &tuple, log->data) != CD_OK) {
        return false;
    }
    usize at = 0;
    for (usize i = 0; i < all->cnt; i++) {
        if ((k->indexed >> i & 1) != 0) {
            items_of[i].num = cd_u256_from_hash(&log->topics[topic++]);
        } else {
            items_of[i] = decoded.items[at++];
        }
    }
    *out = (cd_abi_val){.items = items_of, .cnt = all->cnt};
    return true;
}

/* An argument of an error in a few words. */
static void put_short(cd__xp *p, cd_buf *out, const cd_abi_type *t, const cd_abi_val *v)
{
    enum { TEXT_SHOWN = 200 };
    char addr[CD_ADDR_TEXT_SIZE];
    const cd_addr20 who = cd_u256_to_addr(&v->num);
    if (t->kind == CD_ABI_ADDRESS) {
        cd_buf_str(out, cd_addr_fmt(addr, &who));
    } else if (t->kind == CD_ABI_UINT || t->kind == CD_ABI_INT || t->kind == CD_ABI_BOOL) {
        cd_buf_put(out, cd_fmt_exact(&p->a, &v->num, 0));
    } else if (t->kind == CD_ABI_STRING || t->kind == CD_ABI_BYTES || t->kind == CD_ABI_FIXED) {
        cd_bytes text = cd_bytes_sub(v->bytes, 0, cd_min_u64(v->bytes.n, TEXT_SHOWN));
        cd_buf_put(out, t->kind == CD_ABI_STRING ? text : cd__xp_hex(p, text));
        cd_buf_str(out, text.n < v->bytes.n ? "…" : "");
    } else {
        cd_buf_fmt(out, "[%zu]", v->cnt);
    }
}

cd__reason cd__revert_reason(cd__xp *p, cd_bytes data)
{
    const char *plain = cd_revert_reason(&p->a, data);
    const cd__known *k = find(p->x, data, CD__KNOWN_ERROR);
    cd_abi_type t;
    cd_abi_val v;
    cd_buf out = {0};
    if (plain != NULL) {
        return (cd__reason){.text = cd_bytes_str(plain)};
    }
    if (k == NULL || cd_abi_parse(&t, &p->a, cd_bytes_str(strchr(k->signature, '(')), NULL) != CD_OK ||
        cd_abi_dec(&v, &p->a, &t, cd_bytes_sub(data, 4, data.n - 4)) != CD_OK) {
        return (cd__reason){0};
    }
    const char *name = k->args;
    cd_buf_put(&out, k->name);
    for (usize i = 0; i < t.cnt; i++) {
        usize n = strcspn(name, ",");
        cd_buf_str(&out, i == 0 ? ": " : ", ");
        cd_buf_put(&out, cd_bytes_of(name, n));
        cd_buf_u8(&out, ' ');
        put_short(p, &out, &t.inner[i], &v.items[i]);
        name += name[n] == ',' ? n + 1 : n;
    }
    cd_bytes words = cd_arena_dup(&p->a, cd_buf_bytes(&out));
    cd_buf_fini(&out);
    return (cd__reason){.text = words, .is_ours = k >= p->x->known && k < p->x->known + CD__KNOWN_MAX};
}

void cd__reason_write(cd__xp *p, const cd__reason *r)
{
    if (r->is_ours) {
        cd_html_put(&p->h, "{}", r->text);
    } else {
        cd_html_put(&p->h, "{}", cd_foreign_of(r->text));
    }
}

void cd__known_text(cd_buf *out, const cd__known *k)
{
    const char *type = strchr(k->signature, '(') + 1;
    const char *name = k->args;
    if (k->text != NULL) {
        cd_buf_str(out, k->text);
        return;
    }
    cd_buf_put(out, k->name);
    cd_buf_u8(out, '(');
    while (*type != ')') {
        usize n = strcspn(type, ",)");
        usize m = strcspn(name, ",");
        cd_buf_put(out, cd_bytes_of(type, n));
        cd_buf_u8(out, ' ');
        cd_buf_put(out, cd_bytes_of(name, m));
        cd_buf_str(out, type[n] == ',' ? "," : "");
        type += type[n] == ',' ? n + 1 : n;
        name += name[m] == ',' ? m + 1 : m;
    }
    cd_buf_u8(out, ')');
    cd_buf_str(out, k->rest);
}

/* An amount of a token as people count it, with what stands in the bytes in grey. */
static bool put_amount(cd__xp *p, const cd_addr20 *token, const cd_abi_type *t, const cd_abi_val *v)
{
    const cd__token *known = t->kind != CD_ABI_UINT ? NULL : cd__xp_token(p, token);
    if (known == NULL || known->decimals == CD__DECIMALS_UNKNOWN || known->symbol.n == 0) {
        return false;
    }
    cd__move_amount(p, &(cd__move){.amount = v->num, .token = known});
    cd_html_put(&p->h, "<span class=\"mut any\">{}</span>", cd_fmt_exact(&p->a, &v->num, 0));
    return true;
}

bool cd__known_args(cd__xp *p, const cd__known *k, const cd_addr20 *contract, cd_bytes data, const cd_log *log)
{
    cd_abi_type t;
    cd_abi_val v;
    const char *types = strchr(k->signature, '(');
    if (cd_abi_parse(&t, &p->a, cd_bytes_str(types), NULL) != CD_OK) {
        return false;
    }
    if (log != NULL ? !event_args(p, k, log, &t, &v) : cd_abi_dec(&v, &p->a, &t, data) != CD_OK) {
        return false;
    }
    const char *name = k->args;
    cd_html_put(&p->h, "<dl class=\"kv\">");
    for (usize i = 0; i < t.cnt; i++) {
        usize n = strcspn(name, ",");
        cd_html_put(&p->h, "<dt>{}</dt><dd>", cd_bytes_of(name, n));
        if (!cd_bytes_eq(cd_bytes_of(name, n), cd_bytes_str("amount")) ||
            !put_amount(p, contract, &t.inner[i], &v.items[i])) {
            cd__value_write(p, &t.inner[i], &v.items[i], 0);
        }
        cd_html_put(&p->h, "</dd>");
        name += name[n] == ',' ? n + 1 : n;
    }
    cd_html_put(&p->h, "</dl>");
    return true;
}

/* Values one behind the other; false when the bytes are not what the types say. */
static bool put_inline(cd__xp *p, cd_bytes types, cd_bytes data)
{
    cd_abi_type t;
    cd_abi_val v;
    if (cd_abi_parse(&t, &p->a, types, NULL) != CD_OK || cd_abi_dec(&v, &p->a, &t, data) != CD_OK) {
        return false;
    }
    for (usize i = 0; i < t.cnt; i++) {
        cd_html_put(&p->h, "{}", i == 0 ? "" : ", ");
        cd__value_write(p, &t.inner[i], &v.items[i], 1);
    }
    return true;
}

bool cd__known_inline(cd__xp *p, const cd__known *k, cd_bytes data)
{
    return put_inline(p, cd_bytes_str(strchr(k->signature, '(')), data);
}

bool cd__known_returned(cd__xp *p, const cd__known *k, cd_bytes data)
{
    cd_buf text = {0};
    cd_buf types = {0};
    cd_fn *f = cd_arena_new(&p->a, cd_fn);
    bool is_written = false;
    cd__known_text(&text, k);
    if (cd_fn_parse(f, &p->a, cd_buf_bytes(&text), NULL) == CD_OK && f->out_cnt != 0) {
        cd_fn_types(&types, f->out, f->out_cnt);
        is_written = put_inline(p, cd_buf_bytes(&types), data);
    }
    cd_buf_fini(&text);
    cd_buf_fini(&types);
    return is_written;
}
