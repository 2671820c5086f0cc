/* Blocks of the proposer wrapper, its windows and the numbers behind them: testdata/p2p/proposervm_blocks.json,
 * windower.json, prng_sampler.json. */
#include "vec.h"

#include "consensus/proposer/cert_staking.h"
#include "consensus/proposer/outer.h"
#include "consensus/proposer/windower.h"
#include "consensus/sample/mt19937.h"
#include "consensus/sample/weighted.h"
#include "crypto/hash/sha2.h"

static cd_bytes str_of(cd_json v)
{
    cd_bytes s = {0};
    (void)!cd_json_str(&s, v, NULL);
    return s;
}

static cd_bytes hex_of(vec *v, cd_json j)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_hex(&b, &v->arena, j, NULL) == CD_OK, "bad hex in the vectors");
    return b;
}

static u64 u64_of(vec *v, cd_json j)
{
    u64 n = 0;
    vec_check(v, cd_json_u64(&n, j, NULL) == CD_OK, "bad number in the vectors");
    return n;
}

static cd_hash32 id_of(vec *v, cd_json j)
{
    cd_hash32 id = {0};
    vec_check(v, cd_json_fixed(id.b, 32, j, NULL) == CD_OK, "bad ID in the vectors");
    return id;
}

/* --- blocks --- */

/* What a block's certificate says, and its signature: of this chain, not of another. */
static void check_signed(vec *v, cd_json row, const cd_outer *o, cd_bytes wrong_chain)
{
    u8 header[CD_OUTER_HEADER_LEN];
    cd_errinfo why = {0};
    cd_node_id want = {0};
    cd_node_id got = {0};
    cd_staking *s = cd_cert_staking_new((cd_bytes){0}, NULL);
    cd_hash32 chain = id_of(v, cd_json_get(row, "chain_id"));
    cd_outer_header(header, &chain, &o->parent, &o->id);
    cd_bytes msg = cd_bytes_of(header, sizeof header);
    vec_check(v, cd_bytes_eq(msg, hex_of(v, cd_json_get(row, "header_signed_over"))), "signed header");
    vec_check(v, cd_node_id_parse(&want, str_of(cd_json_get(row, "proposer")), NULL) == CD_OK, "proposer");
    vec_check(v, s->node_of(s, &got, o->cert, &why) == CD_OK && memcmp(&got, &want, sizeof got) == 0, "proposer: %s",
              why.msg);
    vec_check(v, s->check(s, o->cert, msg, o->signature, &why) == CD_OK, "signature: %s", why.msg);
    header[2] ^= 1;
    vec_check(v, s->check(s, o->cert, msg, o->signature, &why) == CD_ESIG, "signature for another chain");
    if (cd_bytes_eq(str_of(cd_json_get(row, "name")), cd_bytes_str("signed_ecdsa"))) {
        vec_check(v, cd_bytes_eq(cd_bytes_str(why.msg), wrong_chain), "wrong chain: %s", why.msg);
    }
    cd_cert_staking_free(s);
}

/* The key of the ECDSA block signs, and its certificate says so. */
static void check_signing(vec *v, cd_json row)
{
    cd_buf sig = {0};
    cd_signkey *key = NULL;
    cd_bytes cert = hex_of(v, cd_json_get(row, "cert_der"));
    cd_bytes msg = cd_bytes_str("a header");
    cd_staking *nobody = cd_cert_staking_new(cert, NULL);
    vec_check(v, cd_signkey_open(&key, str_of(cd_json_get(row, "key_pem")), NULL) == CD_OK, "key");
    cd_staking *s = cd_cert_staking_new(cert, key);
    vec_check(v, nobody->sign(nobody, &sig, msg, NULL) == CD_EUNSUPPORTED, "no key, no signature");
    vec_check(v, s->sign(s, &sig, msg, NULL) == CD_OK && s->check(s, s->cert, msg, cd_buf_bytes(&sig), NULL) == CD_OK,
              "what is signed is checked");
    cd_cert_staking_free(s);
    cd_cert_staking_free(nobody);
    cd_signkey_close(key);
    cd_buf_fini(&sig);
}

static void check_block(vec *v, cd_json row, cd_bytes wrong_chain)
{
    cd_outer o = {0};
    cd_errinfo why = {0};
    cd_buf again = {0};
    cd_bytes bytes = hex_of(v, cd_json_get(row, "hex"));
    cd_bytes name = str_of(cd_json_get(row, "name"));
    cd_hash32 id = id_of(v, cd_json_get(row, "id"));
    cd_hash32 parent = id_of(v, cd_json_get(row, "parent"));
    vec_check(v, cd_outer_parse(&o, bytes, &why) == CD_OK, "%.*s: %s", (int)name.n, (const char *)name.p, why.msg);
    vec_check(v, cd_hash32_eq(&o.id, &id) && cd_hash32_eq(&o.parent, &parent), "%.*s: ids", (int)name.n,
              (const char *)name.p);
    vec_check(v, cd_bytes_eq(o.inner, hex_of(v, cd_json_get(row, "inner"))), "inner block");
    vec_check(v, o.is_option == cd_bytes_eq(name, cd_bytes_str("option")), "kind");
    cd_outer_put(&again, &o);
    if (!o.is_option) {
        vec_check(v, o.pchain_height == u64_of(v, cd_json_get(row, "p_chain_height")), "P height");
        vec_check(v, (u64)o.time == u64_of(v, cd_json_get(row, "timestamp")), "time");
        cd_outer_put_signature(&again, o.signature);
    }
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&again), bytes), "the same bytes again");
    if (o.cert.n != 0) {
        vec_check(v, cd_bytes_eq(o.cert, hex_of(v, cd_json_get(row, "cert_der"))), "certificate");
        check_signed(v, row, &o, wrong_chain);
    }
    for (usize n = 0; n < bytes.n; n++) {
        vec_check(v, cd_outer_parse(&o, cd_bytes_sub(bytes, 0, n), NULL) == CD_ESHORT, "cut at %zu", n);
    }
    cd_buf_fini(&again);
}

static void check_blocks(vec *v, cd_json all)
{
    cd_outer_summary s = {0};
    cd_outer o;
    cd_buf buf = {0};
    cd_errinfo why = {0};
    cd_json_it it = cd_json_iter(cd_json_get(all, "blocks"));
    vec_check(v, it.left == 4, "four blocks");
    while (cd_json_next(&it)) {
        check_block(v, it.val, str_of(cd_json_get(all, "wrong_chain_error")));
        if (cd_json_has(cd_json_get(it.val, "key_pem"))) {
            check_signing(v, it.val);
        }
    }
    cd_json row = cd_json_get(all, "state_summary");
    cd_bytes bytes = hex_of(v, cd_json_get(row, "hex"));
    cd_hash32 id = id_of(v, cd_json_get(row, "id"));
    vec_check(v, cd_outer_summary_parse(&s, bytes, &why) == CD_OK && cd_hash32_eq(&s.id, &id), "summary: %s", why.msg);
    vec_check(v, s.fork_height == u64_of(v, cd_json_get(row, "fork_height")), "fork height");
    vec_check(v, cd_bytes_eq(s.block, hex_of(v, cd_json_get(row, "block"))), "block of the summary");
    vec_check(v, cd_bytes_eq(s.inner, hex_of(v, cd_json_get(row, "inner"))), "inner summary");
    cd_outer_summary_put(&buf, s.fork_height, s.block, s.inner);
    vec_check(v, cd_bytes_eq(cd_buf_bytes(&buf), bytes), "summary again");
    cd_buf_clear(&buf);
    cd_buf_put(&buf, s.block);
    cd_buf_u8(&buf, 0);
    cd_bytes want = str_of(cd_json_get(all, "trailing_byte_error"));
    vec_check(v, cd_outer_parse(&o, cd_buf_bytes(&buf), &why) == CD_ETRAIL && cd_bytes_eq(cd_bytes_str(why.msg), want),
              "trailing byte: %s", why.msg);
    cd_buf_fini(&buf);
}

/* --- numbers --- */

/* The 32-bit twister, as its authors describe it: rules that were in force before draw from it. */
typedef struct mt32 {
    u32 word[624];
    u32 at;
} mt32;

static void mt32_seed(mt32 *m, u32 seed)
{
    m->word[0] = seed;
    for (u32 i = 1; i < 624; i++) {
        m->word[i] = 1812433253u * (m->word[i - 1] ^ (m->word[i - 1] >> 30)) + i;
    }
    m->at = 624;
}

static u32 mt32_next(mt32 *m)
{
    if (m->at == 624) {
        for (u32 i = 0; i < 624; i++) {
            u32 x = (m->word[i] & 0x80000000u) | (m->word[(i + 1) % 624] & 0x7fffffffu);
            m->word[i] = m->word[(i + 397) % 624] ^ (x >> 1) ^ ((x & 1) != 0 ? 0x9908b0dfu : 0);
        }
        m->at = 0;
    }
    u32 x = m->word[m->at++];
    x ^= x >> 11;
    x ^= (x << 7) & 0x9d2c5680u;
    x ^= (x << 15) & 0xefc60000u;
    return x ^ (x >> 18);
}

static u64 draw32(void *ctx)
{
    u64 high = mt32_next(ctx);
    return high << 32 | mt32_next(ctx);
}

static u64 draw64(void *ctx)
{
    return cd_mt64_next(ctx);
}

static void check_stream(vec *v, cd_json list, const cd_draw *d)
{
    cd_json_it it = cd_json_iter(list);
    vec_check(v, it.left == 8, "eight numbers");
    while (cd_json_next(&it)) {
        u64 want = u64_of(v, it.val);
        u64 got = d->next(d->ctx);
        vec_check(v, want == got, "%llu, not %llu", (unsigned long long)got, (unsigned long long)want);
    }
}

static void check_bag(vec *v, cd_json row)
{
    u64 weights[16];
    u32 cnt = 0;
    cd_mt64 mt;
    cd_weighted set;
    cd_weighted_bag bag;
    u32 idx;
    const cd_draw d = {.next = draw64, .ctx = &mt};
    cd_json_it it = cd_json_iter(cd_json_get(row, "weights"));
    while (cd_json_next(&it) && cnt < CD_COUNT(weights)) {
        weights[cnt++] = u64_of(v, it.val);
    }
    vec_check(v, cd_weighted_init(&set, weights, cnt) == CD_OK, "weights");
    cd_weighted_bag_init(&bag, &set);
    cd_mt64_seed(&mt, u64_of(v, cd_json_get(row, "seed")));
    it = cd_json_iter(cd_json_get(row, "indices"));
    while (cd_json_next(&it)) {
        u64 want = u64_of(v, it.val);
        vec_check(v, cd_weighted_bag_next(&bag, &idx, &d) && idx == want, "index %u, not %u", idx, (u32)want);
    }
    u64 drawn = cd_json_len(cd_json_get(row, "indices"));
    while (drawn < set.total && drawn < 1000) {
        vec_check(v, cd_weighted_bag_next(&bag, &idx, &d) && idx < cnt, "the bag is not empty yet");
        drawn++;
    }
    vec_check(v, cd_weighted_bag_next(&bag, &idx, &d) == (set.total > drawn), "the bag ends with its units");
    cd_weighted_bag_fini(&bag);
    cd_weighted_fini(&set);
}

static void check_numbers(vec *v, cd_json all)
{
    cd_mt64 mt;
    mt32 old;
    cd_json_it it = cd_json_iter(cd_json_get(all, "mt19937"));
    vec_check(v, it.left == 4, "four seeds");
    while (cd_json_next(&it)) {
        u64 seed = u64_of(v, cd_json_get(it.val, "seed"));
        cd_mt64_seed(&mt, seed);
        check_stream(v, cd_json_get(it.val, "mt19937_64"), &(cd_draw){.next = draw64, .ctx = &mt});
        mt32_seed(&old, (u32)seed);
        check_stream(v, cd_json_get(it.val, "mt19937_uint64"), &(cd_draw){.next = draw32, .ctx = &old});
    }
    it = cd_json_iter(cd_json_get(all, "weighted_without_replacement_mt64"));
    vec_check(v, it.left == 8, "eight bags");
    while (cd_json_next(&it)) {
        check_bag(v, it.val);
    }
    /* Ten thousand numbers: the whole table is twisted again and again. */
    cd_mt64_seed(&mt, 5489);
    u64 last = 0;
    for (u32 i = 0; i < 10000; i++) {
        last = cd_mt64_next(&mt);
    }
    vec_check(v, last == 9981545732273789042u, "the 10000th number of the standard's seed: %llu",
              (unsigned long long)last);
}

/* --- windows --- */

typedef struct validators {
    cd_vm_validators ops; /* first */
    cd_vm_validator v[16];
    u32 cnt;
} validators;

static cd_err at(const cd_vm_validators *ops, const cd_vm_validator **out, usize *cnt, cd_arena *a,
                 const cd_hash32 *subnet, u64 height)
{
    const validators *all = (const validators *)(const void *)ops;
    (void)a;
    (void)subnet;
    (void)height;
    *out = all->v;
    *cnt = all->cnt;
    return CD_OK;
}

static int by_id(const void *a, const void *b)
{
    return memcmp(((const cd_vm_validator *)a)->node_id.b, ((const cd_vm_validator *)b)->node_id.b, 20);
}

/* "2m10s" */
static u64 seconds_of(cd_bytes text)
{
    u64 total = 0;
    u64 n = 0;
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        if (c >= '0' && c <= '9') {
            n = n * 10 + (u64)(c - '0');
        } else {
            total += n * (c == 'h' ? 3600u : c == 'm' ? 60u : 1u);
            n = 0;
        }
    }
    return total;
}

static void check_slots(vec *v, cd_json row, cd_windower *w, u64 height)
{
    cd_window at_slot = {.height = height, .pchain_height = 7};
    cd_json_it it = cd_json_iter(cd_json_get(row, "post_durango_expected_proposer_by_slot"));
    vec_check(v, it.left == 12, "twelve slots");
    for (; cd_json_next(&it); at_slot.slot++) {
        cd_node_id want = {0};
        cd_node_id got = {0};
        vec_check(v, cd_node_id_parse(&want, str_of(it.val), NULL) == CD_OK, "node");
        vec_check(v, cd_windower_expected(w, &got, &at_slot, NULL) == CD_OK && memcmp(&want, &got, 20) == 0,
                  "slot %llu", (unsigned long long)at_slot.slot);
    }
    it = cd_json_iter(cd_json_get(row, "min_delay_from_slot0"));
    while (cd_json_next(&it)) {
        cd_node_id node = {0};
        u64 slot = 0;
        at_slot.slot = 0;
        vec_check(v, cd_node_id_parse(&node, it.key, NULL) == CD_OK, "node");
        vec_check(v, cd_windower_next(w, &slot, &at_slot, &node, NULL) == CD_OK, "next slot");
        vec_check(v, slot * CD_WINDOW_S == seconds_of(str_of(it.val)), "delay of %.*s: slot %llu", (int)it.key.n,
                  (const char *)it.key.p, (unsigned long long)slot);
    }
}

/* The list of six that is no longer in force, drawn from our bag: the same units by another generator. */
static void check_six(vec *v, cd_json row, const validators *all, const cd_hash32 *chain, u64 height)
{
    mt32 mt;
    u64 weights[16];
    cd_weighted set;
    cd_weighted_bag bag;
    const cd_draw d = {.next = draw32, .ctx = &mt};
    for (u32 i = 0; i < all->cnt; i++) {
        weights[i] = all->v[i].weight;
    }
    vec_check(v, cd_weighted_init(&set, weights, all->cnt) == CD_OK, "weights");
    cd_weighted_bag_init(&bag, &set);
    mt32_seed(&mt, (u32)(cd_be64(chain->b) ^ height));
    cd_json_it it = cd_json_iter(cd_json_get(row, "pre_durango_proposers_6"));
    while (cd_json_next(&it)) {
        u32 idx = 0;
        cd_node_id want = {0};
        vec_check(v, cd_node_id_parse(&want, str_of(it.val), NULL) == CD_OK, "node");
        vec_check(v, cd_weighted_bag_next(&bag, &idx, &d) && memcmp(&all->v[idx].node_id, &want, 20) == 0,
                  "list of six");
    }
    cd_weighted_bag_fini(&bag);
    cd_weighted_fini(&set);
}

static void check_window(vec *v, cd_json row)
{
    validators all = {.ops.at = at};
    cd_hash32 chain = id_of(v, cd_json_get(row, "chain_id"));
    cd_json_it it = cd_json_iter(cd_json_get(row, "validators"));
    while (cd_json_next(&it) && all.cnt < 15) {
        cd_vm_validator *x = &all.v[all.cnt++];
        vec_check(v, cd_json_fixed(x->node_id.b, 20, cd_json_get(it.val, "node_id_hex"), NULL) == CD_OK, "node ID");
        x->weight = u64_of(v, cd_json_get(it.val, "weight"));
    }
    qsort(all.v, all.cnt, sizeof all.v[0], by_id);
    it = cd_json_iter(cd_json_get(row, "schedule"));
    vec_check(v, it.left == 7, "seven heights");
    while (cd_json_next(&it)) {
        u64 height = u64_of(v, cd_json_get(it.val, "height"));
        check_six(v, it.val, &all, &chain, height);
        cd_windower *w = cd_windower_new(&all.ops, &(cd_hash32){0}, &chain);
        check_slots(v, it.val, w, height);
        cd_windower_free(w);
        /* Keys of nodes that are switched off stand under no ID: they get no slot. */
        validators more = all;
        memmove(more.v + 1, more.v, sizeof more.v - sizeof more.v[0]);
        more.v[0] = (cd_vm_validator){.weight = 1000};
        more.cnt++;
        w = cd_windower_new(&more.ops, &(cd_hash32){0}, &chain);
        check_slots(v, it.val, w, height);
        cd_windower_free(w);
    }
}

int main(void)
{
    vec v = {0};
    cd_json all = {0};
    if (vec_json(&v, &all, vec_path(&v, "p2p/proposervm_blocks.json"))) {
        check_blocks(&v, all);
    }
    if (vec_json(&v, &all, vec_path(&v, "p2p/prng_sampler.json"))) {
        check_numbers(&v, all);
    }
    if (vec_json(&v, &all, vec_path(&v, "p2p/windower.json"))) {
        cd_json_it it = cd_json_iter(all);
        vec_check(&v, it.left == 5, "five sets");
        while (cd_json_next(&it)) {
            check_window(&v, it.val);
        }
    }
    return vec_end(&v);
}
