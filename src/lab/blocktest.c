#include "lab/blocktest.h"

#include "base/num_text.h"
#include "chains/evmchain/core/rules/header_check.h"
#include "codec/json.h"
#include "lab/mapstate.h"
#include "lab/parse_priv.h"
#include "lab/reward.h"
#include "lab/rig_priv.h"

static const cd_blocktest_cfg *cfg_of(const cd__rig *r)
{
    return r->cfg;
}

/* Which fork holds when: one fork, or two with a switch at a block number or time. */
typedef struct network {
    cd_fork before;
    cd_fork after;
    bool by_time;
    u64 at;
} network;

/* An imported block. */
typedef struct node node;

struct node {
    node *parent;
    cd_hash32 hash;
    cd_header header;
    cd_mapstate *state;
    node *next; /* in the list of all nodes of the case, newest first */
};

typedef struct blockcase {
    cd__rig *r;
    cd_json json;
    network net;
    u64 chain_id;
    cd_blob_schedule blob;
    node *nodes;
    node *head;
} blockcase;

/* --- networks --- */

/* Reads a number such as "5" or "15k". */
static cd_err parse_at(u64 *out, cd_bytes text)
{
    bool thousands = text.n != 0 && text.p[text.n - 1] == 'k';
    text.n -= thousands;
    CD_TRY(cd_u64_parse(out, text));
    return !thousands || cd_mul_u64(out, *out, 1000) ? CD_OK : CD_ERANGE;
}

/* Reads a network's name, such as "Cancun", "BerlinToLondonAt5" or "ShanghaiToCancunAtTime15k". */
static cd_err parse_network(network *out, cd_arena *a, const char *name)
{
    network n = {0};
    if (cd_fork_parse(&n.before, name) == CD_OK) {
        n.after = n.before;
        *out = n;
        return CD_OK;
    }
    const char *to = strstr(name, "To");
    const char *at = to == NULL ? NULL : strstr(to, "At");
    if (at == NULL) {
        return CD_ENOENT;
    }
    n.by_time = strncmp(at, "AtTime", 6) == 0;
    CD_TRY(cd_fork_parse(&n.before, cd_arena_str(a, cd_bytes_of(name, (usize)(to - name)))));
    CD_TRY(cd_fork_parse(&n.after, cd_arena_str(a, cd_bytes_of(to + 2, (usize)(at - to - 2)))));
    CD_TRY(parse_at(&n.at, cd_bytes_str(at + (n.by_time ? 6 : 2))));
    *out = n;
    return CD_OK;
}

static cd_fork fork_of(const network *n, const cd_header *h)
{
    return (n->by_time ? h->time : h->number) >= n->at ? n->after : n->before;
}

/* --- importing --- */

static cd_err block_hash(void *ctx, cd_hash32 *out, u64 number)
{
    const node *n = ctx;
    while (n != NULL && n->header.number != number) {
        n = n->parent;
    }
    *out = n == NULL ? (cd_hash32){0} : n->hash;
    return CD_OK;
}

static node *find(const blockcase *c, const cd_hash32 *hash)
{
    node *n = c->nodes;
    while (n != NULL && !cd_hash32_eq(&n->hash, hash)) {
        n = n->next;
    }
    return n;
}

static void add(blockcase *c, node *parent, const cd_block *b, cd_mapstate *state)
{
    node *n = cd_arena_new(&c->r->unit, node);
    *n = (node){
        .parent = parent,
        .hash = b->hash,
        .header = b->header,
        .state = state,
        .next = c->nodes,
    };
    state->block_hash = block_hash;
    state->block_hash_ctx = n;
    c->nodes = n;
    c->head = n;
}

/* Pays the block reward of proof-of-work forks. */
static void reward(void *ctx, cd_state *st, const cd_block *b)
{
    enum { UNCLES_MAX = 2 };
    const cd_fork *fork = ctx;
    cd_u256 wei;
    cd_reward_uncle uncles[UNCLES_MAX];
    cd_reward_of(&wei, *fork);
    usize cnt = b->uncle_cnt < UNCLES_MAX ? b->uncle_cnt : UNCLES_MAX;
    for (usize i = 0; i < cnt; i++) {
        uncles[i].coinbase = b->uncles[i].coinbase;
        uncles[i].delta = (b->header.number - b->uncles[i].number) & 7;
    }
    if (!cd_u256_is_zero(&wei)) {
        cd_reward_pay(st, &wei, &b->header.coinbase, uncles, cnt, *fork >= CD_SPURIOUS);
    }
}

/* A block under a fork before Byzantium, whose receipts have the root after each transaction. */
typedef struct between {
    cd__rig *r;
    const cd_mapstate *base;
} between;

static cd_err root_between(void *ctx, cd_hash32 *out, cd_state *st)
{
    const between *b = ctx;
    return cd_mapstate_root(out, b->r->build, b->base, st);
}

static cd_err import(blockcase *c, cd_json block, cd_errinfo *why)
{
    cd__rig *r = c->r;
    cd_bytes raw;
    cd_block b;
    cd_block_exec x;
    CD_TRY(cd_json_hex(&raw, &r->unit, cd_json_get(block, "rlp"), why));
    CD_TRY(cd_block_dec(&b, &r->unit, CD_HEADER_ETHEREUM, raw, why));
    node *parent = find(c, &b.header.parent_hash);
    if (parent == NULL) {
        return cd_fail(why, CD_EINVAL, "unknown parent");
    }
    cd_eth_ctx ctx = {
        .chain_id = c->chain_id,
        .fork = fork_of(&c->net, &b.header),
        .parent_fork = fork_of(&c->net, &parent->header),
        .blob = &c->blob,
        .parent = &parent->header,
        .tx_root = root_between,
        .tx_root_ctx = &(between){.r = r, .base = parent->state},
    };
    CD_TRY(cd_eth_header_check(&b.header, &ctx, why));
    CD_TRY(cd_eth_body_check(&b, &ctx, why));
    cd_state_reset(r->state, &parent->state->src);
    CD_TRY(cd_eth_execute(&x, &b, r->evm, r->state, &r->unit, &ctx, reward, &ctx.fork, why));
    cd_mapstate *after;
    CD_TRY(cd_mapstate_next(&after, &r->unit, r->build, parent->state, r->state));
    if (!cd_hash32_eq(&after->root, &b.header.state_root)) {
        return cd_fail(why, CD_EINVAL, "invalid merkle root");
    }
    add(c, parent, &b, after);
    return CD_OK;
}

/* Tells whether a block is expected to fail: it has a key that starts with "expectException". */
static bool expects_failure(cd_json block)
{
    static const char key[] = "expectException";
    cd_json_it it = cd_json_iter(block);
    while (cd_json_next(&it)) {
        if (it.key.n >= sizeof key - 1 && memcmp(it.key.p, key, sizeof key - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* --- cases --- */

static cd_err state_of(cd_mapstate **out, cd__rig *r, cd_json alloc, cd_errinfo *why)
{
    const cd_genesis_account *accounts;
    usize cnt;
    CD_TRY(cd_genesis_alloc_parse(&accounts, &cnt, &r->unit, alloc, why));
    *out = cd_mapstate_new(&r->unit, r->build, accounts, cnt);
    return CD_OK;
}

static cd_err read_genesis(blockcase *c, cd_errinfo *why)
{
    cd_bytes raw;
    cd_block b;
    cd_hash32 want;
    cd_mapstate *state;
    CD_TRY(cd_json_hex(&raw, &c->r->unit, cd_json_get(c->json, "genesisRLP"), why));
    CD_TRY(cd_block_dec(&b, &c->r->unit, CD_HEADER_ETHEREUM, raw, why));
    CD_TRY(cd_json_fixed(want.b, 32, cd_json_get(cd_json_get(c->json, "genesisBlockHeader"), "hash"), why));
    if (!cd_hash32_eq(&want, &b.hash)) {
        return cd_fail(why, CD_EINVAL, "genesis block hash differs");
    }
    CD_TRY(state_of(&state, c->r, cd_json_get(c->json, "pre"), why));
    if (!cd_hash32_eq(&state->root, &b.header.state_root)) {
        return cd_fail(why, CD_EINVAL, "genesis state root differs");
    }
    add(c, NULL, &b, state);
    return CD_OK;
}

static cd_err judge(blockcase *c, cd_errinfo *why)
{
    cd_hash32 want;
    CD_TRY(cd_json_fixed(want.b, 32, cd_json_get(c->json, "lastblockhash"), why));
    if (!cd_hash32_eq(&want, &c->head->hash)) {
        return cd_fail(why, CD_EINVAL, "another head than expected");
    }
    cd_json hash = cd_json_get(c->json, "postStateHash");
    if (cd_json_has(hash)) {
        CD_TRY(cd_json_fixed(want.b, 32, hash, why));
    } else {
        cd_mapstate *post;
        CD_TRY(state_of(&post, c->r, cd_json_get(c->json, "postState"), why));
        want = post->root;
    }
    if (!cd_hash32_eq(&want, &c->head->state->root)) {
        return cd_fail(why, CD_EINVAL, "post state differs");
    }
    return CD_OK;
}

static cd_err run_blocks(blockcase *c, cd_errinfo *why)
{
    cd_json config = cd_json_get(c->json, "config");
    CD_TRY(cd__lab_chain_id(&c->chain_id, config, why));
    CD_TRY(cd__lab_blob_schedule(&c->blob, config, CD_CANCUN, why));
    CD_TRY(read_genesis(c, why));
    cd_json_it it = cd_json_iter(cd_json_get(c->json, "blocks"));
    for (usize i = 0; cd_json_next(&it); i++) {
        cd_errinfo bad = {0};
        bool is_valid = import(c, it.val, &bad) == CD_OK;
        if (is_valid && expects_failure(it.val)) {
            return cd_fail(why, CD_EINVAL, "block %zu: invalid block was accepted", i);
        }
        if (!is_valid && !expects_failure(it.val)) {
            return cd_fail(why, CD_EINVAL, "block %zu: %s", i, bad.msg);
        }
    }
    return judge(c, why);
}

static void run_case(cd__rig *r, cd_tally *tally, cd_buf *out, const char *path, cd_bytes name, cd_json v)
{
    blockcase c = {.r = r, .json = v};
    cd_errinfo why = {0};
    cd_bytes text = {0};
    const char *fork = "";
    cd_err e = cd_json_str(&text, cd_json_get(v, "network"), &why);
    if (e == CD_OK) {
        fork = cd_arena_str(&r->unit, text);
        if (cfg_of(r)->has_fork && strcmp(fork, cfg_of(r)->fork) != 0) {
            return;
        }
        e = parse_network(&c.net, &r->unit, fork);
        if (e != CD_OK) {
            (void)cd_fail(&why, e, "unknown network");
        }
    }
    if (e == CD_OK) {
        e = run_blocks(&c, &why);
    }
    tally->passed += e == CD_OK;
    tally->failed += e != CD_OK;
    cd_verdict verdict = {
        .name = name,
        .fork = fork,
        .pass = e == CD_OK,
        .root = c.head == NULL ? NULL : &c.head->state->root,
        .error = why.msg,
    };
    cd_verdict_put(out, &verdict, r->json, path);
}

static void run_file(void *worker, cd_tally *tally, cd_buf *out, const char *path, cd_bytes text)
{
    cd__rig *r = worker;
    cd_json doc;
    if (!cd__rig_open(r, &doc, text, tally, out, path)) {
        return;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        run_case(r, tally, out, path, it.key, it.val);
        cd_arena_reset(&r->unit);
    }
}

static void *worker_new(const void *cfg)
{
    const cd_blocktest_cfg *c = cfg;
    return cd__rig_new(c, c->tier, c->json);
}

void cd_blocktest_suite(cd_suite *s, const cd_blocktest_cfg *cfg)
{
    s->cfg = cfg;
    s->worker_new = worker_new;
    s->worker_free = cd__rig_free;
    s->file = run_file;
}
