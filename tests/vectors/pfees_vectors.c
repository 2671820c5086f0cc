/* Fees of the P-Chain: complexity and gas of every transaction (pchain-txs.json); prices, the walk of the gas state and
 * the fee of validators of L1s (fees-rewards.json). [spec:pchain-xchain#7] */
#include "tests/vectors/vec.h"

#include "base/num_text.h"
#include "chains/platform/fees/complexity.h"
#include "chains/platform/fees/l1_fee.h"

/* A number that may stand as text. */
static u64 number(vec *v, cd_json o, const char *key)
{
    u64 n = 0;
    cd_bytes text = {0};
    cd_json at = cd_json_get(o, key);
    bool ok = cd_json_u64(&n, at, NULL) == CD_OK ||
              (cd_json_str(&text, at, NULL) == CD_OK && cd_u64_parse(&n, text) == CD_OK);
    vec_check(v, ok, "%s is a number", key);
    return n;
}

static bool dims_eq(const cd_gas_dims *a, const cd_gas_dims *b)
{
    return a->bandwidth == b->bandwidth && a->reads == b->reads && a->writes == b->writes && a->compute == b->compute;
}

static void check_tx(vec *v, cd_json row)
{
    cd_bytes name = {0};
    cd_bytes bytes = {0};
    cd_p_tx tx = {.creds = {.cnt = 0}};
    cd_gas_dims got;
    u64 gas = 0;
    (void)!cd_json_str(&name, cd_json_get(row, "name"), NULL);
    const char *shown = cd_arena_str(&v->arena, name);
    bool ok = cd_json_hex(&bytes, &v->arena, cd_json_get(row, "hex"), NULL) == CD_OK &&
              cd_linear_parse(&tx, &cd_p_tx_table, &v->arena, bytes, 0, NULL) == CD_OK;
    vec_check(v, ok, "%s: read", shown);
    if (!ok) {
        return;
    }
    if (!cd_json_has(cd_json_get(row, "complexity"))) {
        cd_errinfo why = {0};
        bool refused = cd_gas_complexity(&got, &tx, false, &why) == CD_EUNSUPPORTED;
        vec_check(v, refused && strcmp(why.msg, "unsupported transaction type") == 0, "%s: refused", shown);
        if (cd_gas_complexity(&got, &tx, true, NULL) == CD_OK) {
            vec_check(v, got.bandwidth == bytes.n, "%s: bandwidth is the length, where such stakers are", shown);
        }
        return;
    }
    cd_json c = cd_json_get(row, "complexity");
    cd_gas_dims want = {number(v, c, "bandwidth"), number(v, c, "dbRead"), number(v, c, "dbWrite"),
                        number(v, c, "compute")};
    ok = cd_gas_complexity(&got, &tx, false, NULL) == CD_OK && dims_eq(&got, &want);
    vec_check(v, ok, "%s: complexity", shown);
    vec_check(v, ok && got.bandwidth == bytes.n, "%s: bandwidth is the length", shown);
    ok = cd_p_gas_of(&gas, &want, &cd_gas_config_default.weights) == CD_OK && gas == number(v, row, "gas");
    vec_check(v, ok, "%s: gas", shown);
}

static void check_price(vec *v, cd_json row)
{
    u64 price = cd_gas_price(number(v, row, "minPrice"), number(v, row, "excess"), number(v, row, "k"));
    vec_check(v, price == number(v, row, "price"), "price at %llu: %llu", (unsigned long long)number(v, row, "excess"),
              (unsigned long long)price);
}

static void check_state(vec *v, const cd_p_gas_state *got, cd_json want)
{
    vec_check(v, got->capacity == number(v, want, "capacity") && got->excess == number(v, want, "excess"),
              "the walk is at %llu, %llu", (unsigned long long)got->capacity, (unsigned long long)got->excess);
}

static void check_walk(vec *v, cd_json walk)
{
    const cd_gas_config *c = &cd_gas_config_default;
    cd_p_gas_state s = {number(v, cd_json_get(walk, "start"), "capacity"),
                        number(v, cd_json_get(walk, "start"), "excess")};
    cd_json_it it = cd_json_iter(cd_json_get(walk, "steps"));
    while (cd_json_next(&it)) {
        cd_json after = cd_json_get(it.val, "afterConsume");
        cd_bytes words = {0};
        cd_errinfo why = {0};
        s = cd_gas_advance(s, c, number(v, it.val, "advanceSeconds"));
        check_state(v, &s, cd_json_get(it.val, "afterAdvance"));
        cd_err e = cd_gas_consume(&s, number(v, it.val, "consume"), &why);
        if (cd_json_str(&words, cd_json_get(it.val, "error"), NULL) == CD_OK) {
            vec_check(v, e == CD_ELIMIT && cd_bytes_eq(words, cd_bytes_str(why.msg)), "refused: %s", why.msg);
        } else {
            vec_check(v, e == CD_OK, "%s", why.msg);
        }
        if (cd_json_has(after)) {
            check_state(v, &s, after);
            vec_check(v, cd_gas_price(c->min_price, s.excess, c->k) == number(v, after, "price"), "price on the walk");
        }
    }
}

static void check_l1(vec *v, cd_json all)
{
    cd_json_it it = cd_json_iter(cd_json_get(all, "validatorFee"));
    while (cd_json_next(&it)) {
        cd_json row = cd_json_at(cd_json_get(all, "validatorFeeConfigs"), number(v, it.val, "config"));
        cd_l1_fee_config c = {number(v, row, "capacity"), number(v, row, "target"), number(v, row, "minPrice"),
                              number(v, row, "excessConversionConstant")};
        cd_l1_fee_state s = {number(v, it.val, "current"), number(v, it.val, "excess")};
        u64 seconds = number(v, it.val, "seconds");
        vec_check(v, cd_l1_fee_cost(s, &c, seconds) == number(v, it.val, "costOf"), "cost of %llu s",
                  (unsigned long long)seconds);
        vec_check(v, cd_l1_fee_advance(s, c.target, seconds).excess == number(v, it.val, "excessAfter"), "excess");
        vec_check(v, cd_l1_fee_seconds(s, &c, 86400, 1000000000) == number(v, it.val, "secondsRemainingWith1e9"),
                  "seconds that money lasts");
    }
}

int main(void)
{
    vec v = {0};
    cd_json txs;
    cd_json fees;
    if (vec_json(&v, &txs, vec_path(&v, "node-api/vectors/pchain-txs.json"))) {
        cd_json_it it = cd_json_iter(txs);
        while (cd_json_next(&it)) {
            check_tx(&v, it.val);
        }
    }
    if (vec_json(&v, &fees, vec_path(&v, "node-api/vectors/fees-rewards.json"))) {
        cd_json_it it = cd_json_iter(cd_json_get(fees, "gasPrice"));
        while (cd_json_next(&it)) {
            check_price(&v, it.val);
        }
        check_walk(&v, cd_json_get(fees, "gasStateWalk"));
        check_l1(&v, fees);
    }
    return vec_end(&v);
}
