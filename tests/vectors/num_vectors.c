/* Two-operand words (evm-opcodes): every arithmetic, comparison and bit operation of the EVM on pairs of
 * structured operands. Y is the top of the stack, X below it. [spec:conformance#3] */
#include "num/div.h"
#include "num/exp.h"
#include "tests/vectors/vec.h"

typedef void op_fn(cd_u256 *out, const cd_u256 *y, const cd_u256 *x);

static void lt(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    *out = cd_u256_from_u64(cd_u256_lt(y, x));
}

static void gt(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    *out = cd_u256_from_u64(cd_u256_lt(x, y));
}

static void slt(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    *out = cd_u256_from_u64(cd_u256_slt(y, x));
}

static void sgt(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    *out = cd_u256_from_u64(cd_u256_slt(x, y));
}

static void eq(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    *out = cd_u256_from_u64(cd_u256_eq(y, x));
}

static void byte(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    *out = cd_u256_from_u64(cd_u256_byte(x, cd_u256_to_u64_sat(y)));
}

static void signext(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    cd_u256_set(out, x);
    cd_u256_signextend(out, cd_u256_to_u64_sat(y));
}

static void shl(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    cd_u256_shl_by(out, x, y);
}
static void shr(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    cd_u256_shr_by(out, x, y);
}
static void sar(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    cd_u256_sar_by(out, x, y);
}

/* The inline operations as functions. */
static void add(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    cd_u256_add(out, y, x);
}
static void sub(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    cd_u256_sub(out, y, x);
}
static void mul(cd_u256 *out, const cd_u256 *y, const cd_u256 *x)
{
    cd_u256_mul(out, y, x);
}
static void and (cd_u256 * out, const cd_u256 *y, const cd_u256 *x)
{
    cd_u256_and(out, y, x);
}
static void or (cd_u256 * out, const cd_u256 *y, const cd_u256 *x)
{
    cd_u256_or(out, y, x);
}
static void xor (cd_u256 * out, const cd_u256 *y, const cd_u256 *x) { cd_u256_xor(out, y, x); }

    static const struct {
    const char *name;
    op_fn *run;
} OPS[] = {
    {"add", add},
    {"and", and},
    {"byte", byte},
    {"div", cd_u256_div},
    {"eq", eq},
    {"exp", cd_u256_exp},
    {"gt", gt},
    {"lt", lt},
    {"mod", cd_u256_mod},
    {"mul", mul},
    {"or", or },
    {"sar", sar},
    {"sdiv", cd_u256_sdiv},
    {"sgt", sgt},
    {"shl", shl},
    {"shr", shr},
    {"signext", signext},
    {"slt", slt},
    {"smod", cd_u256_smod},
    {"sub", sub},
    {"xor", xor},
};

static cd_err word(cd_u256 *out, cd_json obj, const char *key, cd_errinfo *why)
{
    cd_hash32 h;
    CD_TRY(cd_json_fixed(h.b, 32, cd_json_get(obj, key), why));
    cd_u256_load_be(out, h.b);
    return CD_OK;
}

static void run_op(vec *v, const char *name, op_fn *run)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, cd_arena_fmt(&v->arena, "evm-opcodes/testcases_%s.json", name)))) {
        return;
    }
    cd_json_it it = cd_json_iter(doc);
    for (unsigned i = 0; cd_json_next(&it); i++) {
        cd_u256 x;
        cd_u256 y;
        cd_u256 want;
        cd_errinfo why = {0};
        if (word(&x, it.val, "X", &why) != CD_OK || word(&y, it.val, "Y", &why) != CD_OK ||
            word(&want, it.val, "Expected", &why) != CD_OK) {
            vec_check(v, false, "%s: %s", name, why.msg);
            continue;
        }
        cd_u256 got;
        run(&got, &y, &x);
        vec_check(v, cd_u256_eq(&got, &want), "%s: case %u", name, i);
    }
}

int main(void)
{
    vec v = {0};
    for (usize i = 0; i < CD_COUNT(OPS); i++) {
        run_op(&v, OPS[i].name, OPS[i].run);
    }
    return vec_end(&v);
}
