#include "chains/evmchain/dev/names.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "base/thread/thread.h"
#include "chains/evmchain/dev/console.h"
#include "codec/abi.h"
#include "num/u256_text.h"
#include "types/addr_text.h"

enum { DEPTH_MAX = 8, NAMES_MAX = 65536, ITEMS_SHOWN = 8, BYTES_SHOWN = 32 };

typedef struct entry {
    cd_bytes name;
    cd_abi_type args; /* a tuple */
} entry;

struct cd_names {
    cd_mutex lock;       /* protects the rest */
    cd_hmap by_selector; /* → entry */
    cd_arena arena;
};

cd_names *cd_names_new(void)
{
    cd_names *n = cd_new(cd_names);
    cd_mutex_init(&n->lock);
    cd_hmap_init(&n->by_selector, CD_HASH_KEYED, 4, sizeof(entry));
    return n;
}

void cd_names_free(cd_names *n)
{
    if (n != NULL) {
        cd_hmap_fini(&n->by_selector);
        cd_arena_fini(&n->arena);
        cd_mutex_fini(&n->lock);
        cd_free(n);
    }
}

/* --- in --- */

/* "(uint256,(address,bytes)[])" of a list of parameters. */
static cd_err put_types(cd_buf *out, cd_json params, u32 depth, cd_errinfo *why)
{
    cd_json_it it = cd_json_iter(params);
    bool is_first = true;
    if (depth == DEPTH_MAX) {
        return cd_json_fail(params, CD_EDEPTH, "nested too deep", why);
    }
    cd_buf_u8(out, '(');
    while (cd_json_next(&it)) {
        cd_bytes type;
        CD_TRY(cd_json_str(&type, cd_json_get(it.val, "type"), why));
        cd_buf_str(out, is_first ? "" : ",");
        is_first = false;
        if (type.n >= 5 && memcmp(type.p, "tuple", 5) == 0) {
            CD_TRY(put_types(out, cd_json_get(it.val, "components"), depth + 1, why));
            cd_buf_put(out, cd_bytes_sub(type, 5, type.n - 5));
        } else {
            cd_buf_put(out, type);
        }
    }
    cd_buf_u8(out, ')');
    return CD_OK;
}

static cd_err add_one(cd_names *n, cd_bytes name, cd_json inputs, cd_errinfo *why)
{
    u8 selector[4];
    cd_abi_type args;
    cd_buf signature = {0};
    cd_buf_put(&signature, name);
    cd_err e = put_types(&signature, inputs, 0, why);
    if (e == CD_OK) {
        cd_abi_selector(selector, cd_buf_cstr(&signature));
    }
    if (e == CD_OK && cd_hmap_get(&n->by_selector, selector) == NULL) {
        /* The type borrows nothing from its text. */
        cd_bytes types = cd_bytes_sub(cd_buf_bytes(&signature), name.n, signature.n - name.n);
        e = cd_abi_parse(&args, &n->arena, types, why);
        if (e == CD_OK) {
            *(entry *)cd_hmap_put(&n->by_selector, NULL, selector) =
                (entry){.name = cd_arena_dup(&n->arena, name), .args = args};
        }
    }
    cd_buf_fini(&signature);
    return e;
}

static cd_err add_all(cd_names *n, cd_json abi, cd_errinfo *why)
{
    cd_json_it it = cd_json_iter(abi);
    while (cd_json_next(&it) && cd_hmap_cnt(&n->by_selector) < NAMES_MAX) {
        cd_bytes kind;
        cd_bytes name;
        CD_TRY(cd_json_str(&kind, cd_json_get(it.val, "type"), why));
        if (!cd_bytes_eq(kind, cd_bytes_str("function")) && !cd_bytes_eq(kind, cd_bytes_str("error"))) {
            continue;
        }
        CD_TRY(cd_json_str(&name, cd_json_get(it.val, "name"), why));
        CD_TRY(add_one(n, name, cd_json_get(it.val, "inputs"), why));
    }
    return CD_OK;
}

cd_err cd_names_add(cd_names *n, cd_json abi, cd_errinfo *why)
{
    CD_TRY(cd_json_arr(abi, why));
    cd_mutex_lock(&n->lock);
    cd_err e = add_all(n, abi, why);
    cd_mutex_unlock(&n->lock);
    return e;
}

/* --- out --- */

static void put_number(cd_buf *out, const cd_u256 *v, bool is_signed)
{
    char digits[CD_U256_TEXT_MAX];
    cd_u256 abs = *v;
    if (is_signed && cd_u256_is_neg(v)) {
        cd_u256_neg(&abs, v);
        cd_buf_u8(out, '-');
    }
    usize n = cd_u256_fmt_dec(digits, &abs);
    for (usize i = 0; i < n; i++) {
        if (i != 0 && (n - i) % 3 == 0) {
            cd_buf_u8(out, ',');
        }
        cd_buf_u8(out, (u8)digits[i]);
    }
}

static void put_bytes(cd_buf *out, cd_bytes b)
{
    cd_hex_put(out, cd_bytes_sub(b, 0, cd_min_u64(b.n, BYTES_SHOWN)));
    if (b.n > BYTES_SHOWN) {
        cd_buf_fmt(out, "… (%zu bytes)", b.n);
    }
}

static void put_value(cd_buf *out, const cd_abi_type *type, const cd_abi_val *val);

/* Types nest no deeper than cd_abi_parse lets them. */
static void put_items(cd_buf *out, const cd_abi_type *type, const cd_abi_val *val, char open, char close)
{
    bool is_tuple = type->kind == CD_ABI_TUPLE;
    cd_buf_u8(out, (u8)open);
    for (usize i = 0; i < val->cnt; i++) {
        cd_buf_str(out, i == 0 ? "" : ", ");
        if (i == ITEMS_SHOWN && !is_tuple) {
            cd_buf_fmt(out, "… %zu more", val->cnt - i);
            break;
        }
        put_value(out, is_tuple ? &type->inner[i] : type->inner, &val->items[i]);
    }
    cd_buf_u8(out, (u8)close);
}

static void put_value(cd_buf *out, const cd_abi_type *type, const cd_abi_val *val)
{
    char text[CD_ADDR_TEXT_SIZE];
    cd_addr20 addr;
    switch (type->kind) {
    case CD_ABI_UINT:
    case CD_ABI_INT:
        put_number(out, &val->num, type->kind == CD_ABI_INT);
        return;
    case CD_ABI_ADDRESS:
        addr = cd_u256_to_addr(&val->num);
        (void)cd_addr_fmt(text, &addr);
        cd_buf_fmt(out, "%.6s…%s", text, text + 38);
        return;
    case CD_ABI_BOOL:
        cd_buf_str(out, cd_u256_is_zero(&val->num) ? "false" : "true");
        return;
    case CD_ABI_FIXED:
    case CD_ABI_BYTES:
        put_bytes(out, val->bytes);
        return;
    case CD_ABI_STRING:
        cd_buf_u8(out, '"');
        cd_console_put(out, val->bytes);
        cd_buf_u8(out, '"');
        return;
    case CD_ABI_ARRAY:
    case CD_ABI_SLICE:
        put_items(out, type, val, '[', ']');
        return;
    case CD_ABI_TUPLE:
        put_items(out, type, val, '(', ')');
        return;
    }
}

static bool put_known(const entry *x, cd_buf *out, cd_bytes data)
{
    cd_arena a = {0};
    cd_abi_val val;
    bool fits = cd_abi_dec(&val, &a, &x->args, cd_bytes_sub(data, 4, data.n - 4)) == CD_OK;
    if (fits) {
        cd_console_put(out, x->name);
        put_items(out, &x->args, &val, '(', ')');
    }
    cd_arena_fini(&a);
    return fits;
}

bool cd_names_put(cd_names *n, cd_buf *out, cd_bytes data)
{
    if (data.n < 4) {
        return false;
    }
    cd_mutex_lock(&n->lock);
    const entry *x = cd_hmap_get(&n->by_selector, data.p);
    bool done = x != NULL && put_known(x, out, data);
    cd_mutex_unlock(&n->lock);
    return done;
}
