/* Messages in blocks: what a block's header says of its predicates is worked out again by every node, which refuses a
 * block that says otherwise; and ten thousand messages that were changed pass nowhere. [spec:warp#5]
 * [spec:evm-chain#2] */
#include "base/mem/mem.h"
#include "base/thread/pool.h"
#include "chains/evmchain/core/test/fixture.h"

enum { SIGNERS = 4, HEIGHT = 7, GAS = 900000 };

static const cd_addr20 own = {.b = {[17] = 1, [18] = 0x62, [19] = 1}};
static const cd_addr20 legacy = {.b = {[0] = 2, [19] = 5}};
static const cd_hash32 source = {.b = {0x5c}};
static const cd_hash32 source_net = {.b = {0x77, 1}};

/* --- who validates --- */

typedef struct world {
    cd_warp_host host; /* first */
    cd_warp_set set;
    cd_bls_sk sks[SIGNERS]; /* in the order of the set */
    cd_arena mem;
    bool is_behind;
} world;

static cd_err subnet_of(cd_warp_host *h, cd_hash32 *out, const cd_hash32 *chain)
{
    (void)h;
    *out = source_net;
    return cd_hash32_eq(chain, &source) ? CD_OK : CD_ENOENT;
}

/* Another set validates at other heights: nobody. */
static cd_err validators(cd_warp_host *h, cd_warp_set *out, cd_arena *a, const cd_hash32 *subnet, u64 height)
{
    const world *w = (const world *)(const void *)h;
    (void)a;
    if (w->is_behind) {
        return CD_ERANGE;
    }
    bool is_it = cd_hash32_eq(subnet, &source_net) && height == HEIGHT;
    *out = is_it ? w->set : (cd_warp_set){.total = 0};
    return CD_OK;
}

static world *world_new(void)
{
    world *w = cd_new(world);
    cd_warp_validator v[SIGNERS] = {{.has_key = true}};
    w->host = (cd_warp_host){.network_id = CHAIN_ID, .subnet_of = subnet_of, .validators = validators};
    for (usize i = 0; i < SIGNERS; i++) {
        u8 seed[32] = {(u8)(i + 9)};
        v[i] = (cd_warp_validator){.has_key = true, .weight = 10};
        assert_int_equal(cd_bls_keygen(&w->sks[i], cd_bytes_of(seed, sizeof seed)), CD_OK);
        assert_int_equal(cd_bls_pk_of(&v[i].key, &w->sks[i]), CD_OK);
    }
    assert_int_equal(cd_warp_set_make(&w->set, &w->mem, v, SIGNERS), CD_OK);
    for (usize i = 0; i < SIGNERS; i++) { /* the keys in the set's order */
        for (usize k = i; k < SIGNERS; k++) {
            cd_bls_pk pk;
            assert_int_equal(cd_bls_pk_of(&pk, &w->sks[k]), CD_OK);
            if (memcmp(&pk, &w->set.members[i].key, sizeof pk) == 0) {
                cd_bls_sk swap = w->sks[i];
                w->sks[i] = w->sks[k];
                w->sks[k] = swap;
            }
        }
    }
    return w;
}

static void world_free(world *w)
{
    cd_arena_fini(&w->mem);
    cd_free(w);
}

/* --- messages --- */

static void message(cd_buf *out, const world *w, u8 signers)
{
    static const u8 payload[] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 'm', 'e', 0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'};
    cd_buf text = {0};
    cd_bls_sig sigs[SIGNERS];
    cd_bls_sig sum;
    usize n = 0;
    cd_warp_message m = {.body = {.network_id = CHAIN_ID, .source_chain = source}};
    m.body.payload = cd_bytes_of(payload, sizeof payload);
    m.signers = cd_bytes_of(&signers, 1);
    cd_warp_unsigned_enc(&text, &m.body);
    for (usize i = 0; i < SIGNERS; i++) {
        if ((signers >> i & 1) != 0) {
            assert_int_equal(cd_bls_sign(&sigs[n++], CD_BLS_POP, cd_buf_bytes(&text), &w->sks[i]), CD_OK);
        }
    }
    assert_int_equal(cd_bls_agg_sigs(&sum, sigs, n), CD_OK);
    cd_bls_sig_enc(m.signature, &sum);
    cd_warp_message_enc(out, &m);
    cd_buf_fini(&text);
}

static cd_access_tuple tuple(cd_arena *a, const cd_addr20 *addr, cd_bytes bytes)
{
    cd_buf packed = {0};
    cd_predicate_pack(&packed, bytes);
    cd_bytes kept = cd_arena_dup(a, cd_buf_bytes(&packed));
    cd_buf_fini(&packed);
    return (cd_access_tuple){.addr = *addr, .keys = (const cd_hash32 *)(const void *)kept.p, .key_cnt = kept.n / 32};
}

/* --- blocks --- */

static cd_buf warp_genesis;

static int set_up_warp(void **state)
{
    static const char at[] = "\"allowFeeRecipients\":true";
    if (set_up(state) != 0) {
        return 1;
    }
    const char *text = cd_buf_cstr(&genesis);
    const char *here = strstr(text, at);
    assert_non_null(here);
    cd_buf_put(&warp_genesis, cd_bytes_of(text, (usize)(here - text)));
    cd_buf_fmt(&warp_genesis, "\"warpConfig\":{\"blockTimestamp\":%d},%s", START, here);
    return 0;
}

static int tear_down_warp(void **state)
{
    cd_buf_fini(&warp_genesis);
    return tear_down(state);
}

static void open_with(node *n, world *w, cd_pool *pool)
{
    const cd_chain_cfg cfg = {
        .kv = cd_kv_mem_open(),
        .genesis = cd_buf_bytes(&warp_genesis),
        .history = 32,
        .network_id = CHAIN_ID,
        .addrs = CD_ADDRS_PRIMARY,
        .warp = &w->host,
        .pool = pool,
    };
    node_open_as(n, &cfg);
}

static void close_node(node *n)
{
    node_close(n);
    cd_kv_close(n->kv);
}

static cd_chain_block *build(node *n, u64 time, u64 height, cd_err expected)
{
    cd_chain_block *b = NULL;
    cd_errinfo why = {0};
    const cd_build_cfg cfg = {.wish = {.time = time}, .pchain_height = height};
    cd_err e = cd_chain_build_as(n->chain, &b, n->pool, &cfg, &why);
    if (e != expected) {
        fail_msg("%s", why.msg);
    }
    return b;
}

static cd_err verify(node *n, cd_bytes rlp, u64 time, u64 height, cd_errinfo *why)
{
    cd_chain_block *b = NULL;
    *why = (cd_errinfo){0};
    CD_TRY(cd_chain_parse(n->chain, &b, rlp, why));
    assert_true(cd_chain_needs_context(n->chain, b));
    b->pchain_height = height;
    cd_err e = cd_chain_verify(n->chain, b, time * 1000, why);
    cd_chain_drop(n->chain, b);
    return e;
}

/* The block with other results behind the fee window. */
static void with_results(cd_buf *out, const cd_chain_block *b, const cd_predicate_results *r)
{
    enum { WINDOW = 80 };
    cd_block block = b->block;
    cd_buf extra = {0};
    cd_buf_put(&extra, cd_bytes_sub(block.header.extra, 0, WINDOW));
    cd_predicate_results_enc(&extra, r);
    block.header.extra = cd_buf_bytes(&extra);
    cd_buf_clear(out);
    cd_block_enc(out, CD_HEADER_L1, &block);
    cd_buf_fini(&extra);
}

static void forged_results(void **state)
{
    (void)state;
    world *w = world_new();
    cd_pool *pool;
    node a;
    node b;
    cd_arena mem = {0};
    cd_buf good = {0};
    cd_buf weak = {0};
    cd_buf forged = {0};
    cd_errinfo why;
    assert_int_equal(cd_pool_new(&pool, 2, 8, "worker", NULL), CD_OK);
    open_with(&a, w, NULL);
    open_with(&b, w, pool);
    message(&good, w, 0x07);
    message(&weak, w, 0x05);
    const cd_access_tuple access[] = {
        tuple(&mem, &own, cd_buf_bytes(&good)),
        tuple(&mem, &legacy, cd_buf_bytes(&weak)),
        tuple(&mem, &own, cd_buf_bytes(&weak)),
    };
    cd_tx tx = payment(0, 100);
    tx.gas_limit = GAS;
    tx.access = access;
    tx.access_cnt = CD_COUNT(access);
    assert_int_equal(put(&a, 0, tx, NULL), CD_OK);
    w->is_behind = true; /* who validates is not known yet: the transaction waits, nothing is guessed */
    cd_chain_block *early = NULL;
    const cd_build_cfg cfg = {.wish = {.time = START + 2}, .pchain_height = HEIGHT};
    assert_int_not_equal(cd_chain_build_as(a.chain, &early, a.pool, &cfg, NULL), CD_OK);
    w->is_behind = false;
    cd_chain_block *block = build(&a, START + 2, HEIGHT, CD_OK);
    assert_int_equal(block->block.tx_cnt, 1);
    const cd_hash32 *hash = &block->block.txs[0].hash;
    assert_int_equal(verify(&b, block->rlp, START + 2, HEIGHT, &why), CD_OK);

    /* At another height others validate, and the header is wrong; where that is not known yet, nobody says so. */
    assert_int_equal(verify(&b, block->rlp, START + 2, HEIGHT + 1, &why), CD_EINVAL);
    assert_non_null(strstr(why.msg, "failed to verify predicates: invalid header predicate results"));
    w->is_behind = true;
    assert_int_equal(verify(&b, block->rlp, START + 2, HEIGHT, &why), CD_ERANGE);
    w->is_behind = false;

    /* Every other result is refused, by both. */
    static const char *const bits[] = {"", "\x01", "\x02", "\x03"};
    u32 tried = 0;
    for (usize i = 0; i < CD_COUNT(bits); i++) {
        for (usize k = 0; k < CD_COUNT(bits); k++) {
            const cd_predicate_bits items[] = {{.addr = own, .failed = cd_bytes_str(bits[i])},
                                               {.addr = legacy, .failed = cd_bytes_str(bits[k])}};
            for (usize cnt = 0; cnt <= 2; cnt++) {
                cd_predicate_results r = {0};
                cd_arena own_mem = {0};
                bool is_right = cnt == 2 && i == 2 && k == 1;
                cd_predicate_results_add(&r, &own_mem, &(cd_predicate_tx){.hash = *hash, .items = items, .cnt = cnt});
                with_results(&forged, block, &r);
                assert_int_equal(verify(&b, cd_buf_bytes(&forged), START + 2, HEIGHT, &why),
                                 is_right ? CD_OK : CD_EINVAL);
                tried += !is_right;
                if (!is_right) {
                    assert_int_equal(verify(&a, cd_buf_bytes(&forged), START + 2, HEIGHT, &why), CD_EINVAL);
                    assert_non_null(strstr(why.msg, "invalid header predicate results"));
                }
                cd_arena_fini(&own_mem);
            }
        }
    }
    assert_int_equal(tried, 47);
    cd_chain_drop(a.chain, block);
    cd_buf_fini(&good);
    cd_buf_fini(&weak);
    cd_buf_fini(&forged);
    cd_arena_fini(&mem);
    close_node(&a);
    close_node(&b);
    cd_pool_free(pool);
    world_free(w);
}

/* --- changed messages --- */

static u64 seed_state = 0x5eed;

static u64 next_random(void)
{
    seed_state ^= seed_state << 13;
    seed_state ^= seed_state >> 7;
    return seed_state ^= seed_state << 17;
}

/* Changes a message somewhere, anyhow; its set of signers oftener than the rest. */
static void mutate(cd_buf *b)
{
    enum { BITS_FROM_END = 97 };
    u64 r = next_random();
    usize at = next_random() % 5 == 0 ? b->n - BITS_FROM_END : (usize)(next_random() % b->n);
    switch (r % 6) {
    case 0:
    case 1:
    case 2:
        b->p[at] ^= (u8)(1u << (r >> 8) % 8);
        break;
    case 3:
        b->p[at] = (u8)(b->p[at] + 1 + (r >> 8) % 255);
        break;
    case 4:
        b->n = at;
        break;
    default:
        cd_buf_u8(b, (u8)(r >> 8));
        break;
    }
}

/* A changed message is read by no one, or fails by the rule that it breaks: whose signature it is, of what, how much
 * weight is behind it, for which network. */
static void changed_messages(void **state)
{
    (void)state;
    enum { CHANGES = 10000 };
    world *w = world_new();
    cd_buf good = {0};
    u32 unread = 0;
    u32 words[5] = {0};
    static const char *const rules[] = {"wrong networkID", "bitset is invalid", "unknown validator",
                                        "signature weight is insufficient", "signature"};
    const cd_module_config config = {.module = CD_MODULE_WARP};
    message(&good, w, 0x07);
    cd_warp_message m;
    assert_int_equal(cd_warp_message_dec(&m, cd_buf_bytes(&good)), CD_OK);
    assert_int_equal(cd_warp_check_signed(&m, &config, &w->host, HEIGHT, NULL), CD_OK);
    for (u32 i = 0; i < CHANGES; i++) {
        cd_buf bad = {0};
        cd_errinfo why = {0};
        cd_buf_put(&bad, cd_buf_bytes(&good));
        mutate(&bad);
        if (cd_warp_message_dec(&m, cd_buf_bytes(&bad)) != CD_OK) {
            unread++;
        } else {
            cd_err e = cd_warp_check_signed(&m, &config, &w->host, HEIGHT, &why);
            if (e == CD_OK) {
                fail_msg("change %u passes", i);
            }
            usize k = 0;
            while (k < CD_COUNT(rules) && strstr(why.msg, rules[k]) == NULL) {
                k++;
            }
            assert_true(k < CD_COUNT(rules) || e == CD_ENOENT); /* another source chain has other validators */
            words[k < CD_COUNT(rules) ? k : 4]++;
        }
        cd_buf_fini(&bad);
    }
    assert_true(unread > 1000);
    for (usize k = 0; k < CD_COUNT(rules); k++) {
        assert_true(words[k] > 0);
    }
    cd_buf_fini(&good);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forged_results),
        cmocka_unit_test(changed_messages),
    };
    return cmocka_run_group_tests(tests, set_up_warp, tear_down_warp);
}
