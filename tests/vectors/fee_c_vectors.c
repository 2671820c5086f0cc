/* The fees of the C profile in six eras (testdata/evm-chain/cchain-fee-sequences.json): each step's base fee, block gas
 * cost, limits and the front of the extra data, and the header's bytes and hash. [spec:evm-chain#3.2] */
#include "vec.h"

#include "chains/evmchain/core/rules/fee_c.h"

typedef struct step {
    u64 time;
    u64 gas_used;
    u64 gas_limit;
    u64 capacity;
    cd_u256 base_fee;
    bool has_cost;
    cd_u256 cost;
    cd_bytes prefix;
    cd_bytes rlp;
    cd_hash32 hash;
} step;

static bool read_step(vec *v, step *out, cd_json row)
{
    cd_bytes cost;
    cd_errinfo why = {0};
    *out = (step){0};
    bool ok = cd_json_u64(&out->time, cd_json_get(row, "time"), &why) == CD_OK &&
              cd_json_u64(&out->gas_used, cd_json_get(row, "gasUsed"), &why) == CD_OK &&
              cd_json_u64(&out->gas_limit, cd_json_get(row, "gasLimit"), &why) == CD_OK &&
              cd_json_u64(&out->capacity, cd_json_get(row, "gasCapacity"), &why) == CD_OK &&
              cd_json_u256(&out->base_fee, cd_json_get(row, "baseFee"), &why) == CD_OK &&
              cd_json_str(&cost, cd_json_get(row, "blockGasCost"), &why) == CD_OK &&
              cd_json_hex(&out->prefix, &v->arena, cd_json_get(row, "extraPrefix"), &why) == CD_OK &&
              cd_json_hex(&out->rlp, &v->arena, cd_json_get(row, "headerRLP"), &why) == CD_OK &&
              cd_json_fixed(out->hash.b, 32, cd_json_get(row, "hash"), &why) == CD_OK;
    if (ok && cost.n != 0) {
        out->has_cost = true;
        ok = cd_json_u256(&out->cost, cd_json_get(row, "blockGasCost"), &why) == CD_OK;
    }
    vec_check(v, ok, "%s", why.msg);
    return ok;
}

static void check_step(vec *v, const char *name, usize i, const step *s, const cd_fee_c *f, const cd_header *h)
{
    u8 prefix[CD_FEE_WINDOW_SIZE];
    u64 limit = 0;
    u64 capacity = 0;
    cd_u256 fee;
    cd_u256 cost;
    cd_hash32 hash;
    u64 wish = f->era >= CD_C_FORTUNA && h->extra.n >= CD_GAS_STATE_SIZE ? cd_be64(h->extra.p + 16) : 0;
    cd_err e = cd_fee_c_prefix(prefix, f, s->gas_used, wish);
    usize n = cd_fee_c_prefix_size(f->era);
    vec_check(v, e == CD_OK && cd_bytes_eq(cd_bytes_of(prefix, n), s->prefix), "%s %zu: prefix", name, i);
    e = cd_fee_c_base_fee(&fee, f);
    vec_check(v, e == CD_OK && cd_u256_eq(&fee, &s->base_fee), "%s %zu: base fee", name, i);
    if (s->has_cost) {
        cd_fee_c_block_gas_cost(&cost, f);
        vec_check(v, cd_u256_eq(&cost, &s->cost), "%s %zu: block gas cost", name, i);
    }
    e = cd_fee_c_gas(&limit, &capacity, f);
    vec_check(v, e == CD_OK && limit == s->gas_limit && capacity == s->capacity, "%s %zu: gas", name, i);
    cd_header_hash(&hash, CD_HEADER_C, h);
    vec_check(v, cd_hash32_eq(&hash, &s->hash), "%s %zu: header", name, i);
    if (f->era >= CD_C_FORTUNA) {
        vec_check(v, cd_fee_c_prefix(prefix, f, s->capacity + 1, 0) == CD_ELIMIT, "%s %zu: above capacity", name, i);
    }
}

static cd_c_era era_of(cd_bytes fork)
{
    static const struct {
        const char *name;
        cd_c_era era;
    } names[] = {
        {"ApricotPhase3", CD_C_AP3}, {"ApricotPhase4", CD_C_AP4}, {"ApricotPhase5", CD_C_AP5},
        {"Etna", CD_C_ETNA},         {"Fortuna", CD_C_FORTUNA},   {"Granite", CD_C_GRANITE},
    };
    for (usize i = 0; i < CD_COUNT(names); i++) {
        if (cd_bytes_eq(fork, cd_bytes_str(names[i].name))) {
            return names[i].era;
        }
    }
    return CD_C_LAUNCH;
}

static void run_sequence(vec *v, cd_json seq)
{
    cd_bytes fork = {0};
    cd_bytes pattern = {0};
    (void)!cd_json_str(&fork, cd_json_get(seq, "fork"), NULL);
    (void)!cd_json_str(&pattern, cd_json_get(seq, "pattern"), NULL);
    const char *name = cd_arena_fmt(&v->arena, "%.*s %.*s", (int)fork.n, (const char *)fork.p, (int)pattern.n,
                                    (const char *)pattern.p);
    cd_c_era era = era_of(fork);
    cd_header parent = {.time = 1700000000, .has = CD_HEADER_BASE_FEE, .base_fee = {.w = {225000000000}}};
    cd_json_it it = cd_json_iter(cd_json_get(seq, "steps"));
    for (usize i = 0; cd_json_next(&it); i++) {
        step s;
        cd_header h;
        if (!read_step(v, &s, it.val)) {
            return;
        }
        bool ok = cd_header_dec_all(&h, CD_HEADER_C, s.rlp, NULL) == CD_OK;
        vec_check(v, ok, "%s %zu: header does not decode", name, i);
        if (!ok) {
            return;
        }
        const cd_fee_c f = {
            .parent_era = era,
            .era = era,
            .parent = &parent,
            .time = s.time,
            .time_ms = (h.has & CD_HEADER_TIME_MS) != 0 ? h.time_ms : s.time * 1000,
        };
        check_step(v, name, i, &s, &f, &h);
        parent = h;
    }
}

int main(void)
{
    vec v = {0};
    cd_json all = {0};
    if (vec_json(&v, &all, vec_path(&v, "evm-chain/cchain-fee-sequences.json"))) {
        cd_json_it it = cd_json_iter(all);
        while (cd_json_next(&it)) {
            run_sequence(&v, it.val);
        }
        vec_check(&v, cd_json_len(all) == 24, "%zu sequences", cd_json_len(all));
    }
    return vec_end(&v);
}
