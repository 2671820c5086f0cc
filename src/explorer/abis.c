#include "explorer/abis.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "codec/json.h"
#include "crypto/hash/keccak.h"
#include "explorer/explorer_priv.h"
#include "types/fn.h"

enum { DEPTH_MAX = 8, NAME_MAX_LEN = 128 };

struct cd_abis {
    cd_arena mem;
    cd_hmap by_kind[3]; /* hash of the signature, four bytes of it but for events, → cd__known */
};

static u32 key_size(cd__known_kind kind)
{
    return kind == CD__KNOWN_EVENT ? 32 : 4;
}

cd_abis *cd_abis_new(void)
{
    cd_abis *x = cd_new(cd_abis);
    for (cd__known_kind k = CD__KNOWN_FN; k <= CD__KNOWN_ERROR; k++) {
        cd_hmap_init(&x->by_kind[k], CD_HASH_KEYED, key_size(k), sizeof(cd__known));
    }
    return x;
}

void cd_abis_free(cd_abis *x)
{
    if (x != NULL) {
        for (usize i = 0; i < CD_COUNT(x->by_kind); i++) {
            cd_hmap_fini(&x->by_kind[i]);
        }
        cd_arena_fini(&x->mem);
        cd_free(x);
    }
}

const cd__known *cd__abis_find(const cd_abis *x, cd__known_kind kind, const u8 *hash)
{
    return x == NULL ? NULL : cd_hmap_get(&x->by_kind[kind], hash);
}

/* --- in --- */

static bool is_name(cd_bytes t)
{
    bool is = t.n <= NAME_MAX_LEN;
    for (usize i = 0; is && i < t.n; i++) {
        u8 c = t.p[i];
        is = (u8)((c | 0x20) - 'a') < 26 || (i != 0 && (u8)(c - '0') < 10) || c == '_' || c == '$';
    }
    return is;
}

/* The members of a list of parameters: "(uint256,(address,bytes)[])"; names: "(uint256 a,(address,bytes)[] b)". */
static bool put_params(cd_buf *out, cd_json params, u32 depth, bool with_names)
{
    cd_json_it it = cd_json_iter(params);
    bool is_good = depth < DEPTH_MAX;
    bool is_first = true;
    cd_buf_u8(out, '(');
    while (is_good && cd_json_next(&it)) {
        cd_bytes type;
        cd_bytes name;
        is_good = cd_json_str(&type, cd_json_get(it.val, "type"), NULL) == CD_OK;
        cd_buf_str(out, is_first ? "" : ",");
        is_first = false;
        if (is_good && type.n >= 5 && memcmp(type.p, "tuple", 5) == 0) {
            is_good = put_params(out, cd_json_get(it.val, "components"), depth + 1, false);
            type = cd_bytes_sub(type, 5, type.n - 5);
        }
        if (is_good) {
            cd_buf_put(out, type);
        }
        if (is_good && with_names && cd_json_str(&name, cd_json_get(it.val, "name"), NULL) == CD_OK && name.n != 0) {
            is_good = is_name(name);
            cd_buf_u8(out, ' ');
            cd_buf_put(out, name);
        }
    }
    cd_buf_u8(out, ')');
    return is_good;
}

/* "to,amount" and which of them stand in topics. One without a name is called by its number. */
static bool put_args(cd_buf *out, u8 *indexed, cd_json params)
{
    cd_json_it it = cd_json_iter(params);
    bool is_good = true;
    u32 nr = 0;
    for (; is_good && cd_json_next(&it); nr++) {
        cd_bytes name;
        bool is_indexed = false;
        cd_buf_str(out, nr == 0 ? "" : ",");
        if (cd_json_str(&name, cd_json_get(it.val, "name"), NULL) == CD_OK && name.n != 0) {
            is_good = is_name(name);
            cd_buf_put(out, name);
        } else {
            cd_buf_fmt(out, "%u", nr);
        }
        if (cd_json_bool(&is_indexed, cd_json_get(it.val, "indexed"), NULL) == CD_OK && is_indexed) {
            is_good = is_good && nr < 8;
            *indexed = (u8)(*indexed | (is_good ? 1U << nr : 0));
        }
    }
    return is_good;
}

static const char *take(cd_abis *x, cd_buf *text)
{
    const char *out = cd_arena_str(&x->mem, cd_buf_bytes(text));
    cd_buf_clear(text);
    return out;
}

/* "poke(uint256 size) payable(bool)", as cd_fn_parse reads it; NULL: it does not. */
static const char *describe(cd_abis *x, cd_bytes name, cd_json v)
{
    cd_arena a = {0};
    cd_buf text = {0};
    cd_bytes state;
    const char *out = NULL;
    cd_fn *f = cd_arena_new(&a, cd_fn);
    cd_buf_put(&text, name);
    bool is_good = put_params(&text, cd_json_get(v, "inputs"), 0, true);
    if (cd_json_str(&state, cd_json_get(v, "stateMutability"), NULL) == CD_OK) {
        cd_buf_str(&text, cd_bytes_eq(state, cd_bytes_str("view")) || cd_bytes_eq(state, cd_bytes_str("pure")) ? " view"
                          : cd_bytes_eq(state, cd_bytes_str("payable")) ? " payable"
                                                                        : "");
    }
    if (cd_json_kind_of(cd_json_get(v, "outputs")) == CD_JSON_ARR && cd_json_len(cd_json_get(v, "outputs")) != 0) {
        cd_buf_u8(&text, ' ');
        is_good = is_good && put_params(&text, cd_json_get(v, "outputs"), 0, true);
    }
    if (is_good && cd_fn_parse(f, &a, cd_buf_bytes(&text), NULL) == CD_OK) {
        out = take(x, &text);
    }
    cd_buf_fini(&text);
    cd_arena_fini(&a);
    return out;
}

static void add_one(cd_abis *x, cd__known_kind kind, cd_bytes name, cd_json v)
{
    cd_buf text = {0};
    cd_arena a = {0};
    cd_abi_type type;
    cd__known k = {.kind = kind, .rest = ""};
    cd_json inputs = cd_json_get(v, "inputs");
    cd_buf_put(&text, name);
    bool is_good = is_name(name) && name.n != 0 && put_params(&text, inputs, 0, false) &&
                   cd_abi_parse(&type, &a, cd_bytes_sub(cd_buf_bytes(&text), name.n, text.n - name.n), NULL) == CD_OK;
    cd_keccak256(&k.hash, cd_buf_bytes(&text));
    is_good = is_good && cd__abis_find(x, kind, k.hash.b) == NULL && cd_hmap_cnt(&x->by_kind[kind]) < CD_ABIS_MAX;
    if (is_good) {
        k.signature = take(x, &text);
        k.name = cd_bytes_of(k.signature, name.n);
        is_good = put_args(&text, &k.indexed, inputs);
        k.args = take(x, &text);
    }
    if (is_good && kind == CD__KNOWN_FN) {
        k.text = describe(x, name, v);
        is_good = k.text != NULL;
    }
    if (is_good) {
        *(cd__known *)cd_hmap_put(&x->by_kind[kind], NULL, k.hash.b) = k;
    }
    cd_buf_fini(&text);
    cd_arena_fini(&a);
}

cd_err cd_abis_add(cd_abis *x, cd_bytes text, cd_errinfo *why)
{
    static const char *const words[] = {
        [CD__KNOWN_FN] = "function", [CD__KNOWN_EVENT] = "event", [CD__KNOWN_ERROR] = "error"};
    cd_arena a = {0};
    cd_json doc;
    cd_err e = cd_json_parse(&doc, &a, text, 0, why);
    if (e == CD_OK) {
        doc = cd_json_kind_of(doc) == CD_JSON_ARR ? doc : cd_json_get(doc, "abi");
        e = cd_json_arr(doc, why);
    }
    cd_json_it it = {0};
    if (e == CD_OK) {
        it = cd_json_iter(doc);
    }
    while (e == CD_OK && cd_json_next(&it)) {
        cd_bytes kind;
        cd_bytes name;
        bool is_named = cd_json_str(&kind, cd_json_get(it.val, "type"), NULL) == CD_OK &&
                        cd_json_str(&name, cd_json_get(it.val, "name"), NULL) == CD_OK;
        for (cd__known_kind k = CD__KNOWN_FN; is_named && k <= CD__KNOWN_ERROR; k++) {
            if (cd_bytes_eq(kind, cd_bytes_str(words[k]))) {
                add_one(x, k, name, it.val);
            }
        }
    }
    cd_arena_fini(&a);
    return e;
}
