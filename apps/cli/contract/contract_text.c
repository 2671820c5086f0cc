#include "contract/contract_text.h"

#include "base/os/fileio.h"
#include "num/u256_text.h"

enum { FILE_MAX = 16 << 20 };

/* --- what is typed --- */

static cd_err type_of(cd_abi_type *out, cd_arena *mem, const cd_fn_arg *args, usize cnt, cd_errinfo *why)
{
    cd_buf text = {0};
    cd_fn_types(&text, args, cnt);
    cd_err e = cd_abi_parse(out, mem, cd_arena_dup(mem, cd_buf_bytes(&text)), why);
    cd_buf_fini(&text);
    return e;
}

cd_err cd__contract_args(cd_buf *out, cd_arena *mem, const cd_fn *f, const char *const *words, usize cnt,
                         cd_errinfo *why)
{
    cd_abi_type type;
    cd_errinfo said = {0};
    if (cnt != f->in_cnt) {
        return cd_fail(why, CD_EINVAL, "%zu arguments, %zu are wanted", cnt, f->in_cnt);
    }
    cd_abi_val *items = cd_arena_array(mem, cd_abi_val, f->in_cnt + 1);
    CD_TRY(type_of(&type, mem, f->in, f->in_cnt, why));
    for (usize i = 0; i < f->in_cnt; i++) {
        if (cd_fn_value(&items[i], mem, &type.inner[i], cd_bytes_str(words[i]), &said) != CD_OK) {
            return cd_fail(why, CD_EINVAL, "argument %zu, %.*s: %.120s", i + 1, (int)f->in[i].type.n,
                           (const char *)f->in[i].type.p, said.msg);
        }
    }
    const cd_abi_val all = {.items = items, .cnt = f->in_cnt};
    cd_err e = cd_abi_enc(out, &type, &all);
    return e == CD_OK ? CD_OK : cd_fail(why, CD_EINVAL, "an argument does not fit its type");
}

/* --- what compilers write --- */

/* The contract of a file: what a compiler or Hardhat writes for one, or a list of several under "contracts". */
static cd_err find_contract(cd_json *out, cd_arena *mem, const char *word, cd_errinfo *why)
{
    const char *colon = strrchr(word, ':');
    const char *file = colon == NULL ? word : cd_arena_str(mem, cd_bytes_of(word, (usize)(colon - word)));
    cd_buf text = {0};
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, file, FILE_MAX, why);
    cd_bytes copy = cd_arena_dup(mem, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    CD_TRY(e);
    CD_TRY(cd_json_parse(out, mem, copy, FILE_MAX, why));
    cd_json all = cd_json_get(*out, "contracts");
    *out = colon == NULL ? *out : cd_json_get(cd_json_has(all) ? all : *out, colon + 1);
    return cd_json_has(cd_json_get(*out, "abi")) && cd_json_has(cd_json_get(*out, "bytecode"))
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "%.120s: no \"abi\" and \"bytecode\" there; FILE:NAME names one of several",
                         word);
}

/* What the constructor takes. */
static cd_err constructor_of(cd_fn *f, cd_arena *mem, cd_json contract, cd_errinfo *why)
{
    *f = (cd_fn){0};
    for (cd_json_it it = cd_json_iter(cd_json_get(contract, "abi")); cd_json_next(&it);) {
        cd_bytes kind = {0};
        cd_buf text = {0};
        if (cd_json_str(&kind, cd_json_get(it.val, "type"), NULL) != CD_OK ||
            !cd_bytes_eq(kind, cd_bytes_str("constructor"))) {
            continue;
        }
        /* as a function of that name, which the reader of ABI files knows */
        cd_fn *list;
        usize cnt;
        cd_buf_str(&text,
                   "[{\"type\":\"function\",\"name\":\"constructor\",\"stateMutability\":\"payable\",\"outputs\":[],"
                   "\"inputs\":");
        cd_json_raw(&text, cd_json_get(it.val, "inputs"));
        cd_buf_str(&text, "}]");
        cd_err e = cd_fn_list(&list, &cnt, mem, cd_arena_dup(mem, cd_buf_bytes(&text)), why);
        cd_buf_fini(&text);
        CD_TRY(e);
        *f = cnt == 1 ? list[0] : *f;
    }
    return CD_OK;
}

cd_err cd__contract_file(cd_fn *constructor, cd_bytes *code, cd_arena *mem, const char *word, cd_errinfo *why)
{
    cd_json contract;
    CD_TRY(find_contract(&contract, mem, word, why));
    CD_TRY(constructor_of(constructor, mem, contract, why));
    return cd_json_hex(code, mem, cd_json_get(contract, "bytecode"), why);
}

/* --- what is shown --- */

static void put_val(cd_json_w *w, const cd_abi_type *t, const cd_abi_val *v);

void cd__contract_put(cd_json_w *w, const cd_abi_type *t, const cd_abi_val *v)
{
    cd_json_w_arr(w);
    for (usize i = 0; i < v->cnt; i++) {
        put_val(w, t->kind == CD_ABI_TUPLE ? &t->inner[i] : t->inner, &v->items[i]);
    }
    cd_json_w_arr_end(w);
}

/* Numbers as digits in quotes, which no reader rounds. Depth is that of the type, which is bounded. */
static void put_val(cd_json_w *w, const cd_abi_type *t, const cd_abi_val *v)
{
    char digits[CD_U256_TEXT_MAX + 2];
    cd_addr20 addr = cd_u256_to_addr(&v->num);
    cd_u256 n = v->num;
    bool is_neg = t->kind == CD_ABI_INT && (n.w[3] >> 63) != 0;
    switch (t->kind) {
    case CD_ABI_UINT:
    case CD_ABI_INT:
        if (is_neg) {
            cd_u256_neg(&n, &n);
        }
        digits[0] = '-';
        (void)cd_u256_fmt_dec(digits + 1, &n);
        cd_json_w_cstr(w, is_neg ? digits : digits + 1);
        return;
    case CD_ABI_ADDRESS:
        cd_json_w_hex(w, cd_bytes_of(addr.b, sizeof addr.b));
        return;
    case CD_ABI_BOOL:
        cd_json_w_bool(w, !cd_u256_is_zero(&v->num));
        return;
    case CD_ABI_FIXED:
    case CD_ABI_BYTES:
        cd_json_w_hex(w, v->bytes);
        return;
    case CD_ABI_STRING:
        cd_json_w_str(w, v->bytes);
        return;
    case CD_ABI_ARRAY:
    case CD_ABI_SLICE:
    case CD_ABI_TUPLE:
        cd__contract_put(w, t, v);
        return;
    }
}
