/* The chain of rpc-compat: genesis document and 20 blocks (Cancun, withdrawals, blobs) through the
 * header rules and execution of the Ethereum profile, to the recorded head. [spec:conformance#3] */
#include "tests/vectors/vec.h"

#include "chains/evmchain/core/rules/header_check.h"
#include "lab/mapstate.h"
#include "types/hashes.h"

typedef struct chain {
    vec *v;
    cd_trie_build *build;
    cd_evm *evm;
    cd_state *st;
    u64 chain_id;
    cd_block head;
    cd_hash32 hashes[256];
    cd_mapstate *state;
} chain;

static cd_err block_hash(void *ctx, cd_hash32 *out, u64 number)
{
    const chain *c = ctx;
    *out = number < CD_COUNT(c->hashes) ? c->hashes[number] : (cd_hash32){0};
    return CD_OK;
}

static bool open_genesis(chain *c)
{
    cd_bytes text;
    cd_genesis g;
    cd_errinfo why = {0};
    if (!vec_read(c->v, &text, vec_path(c->v, "rpc-compat/genesis.json"))) {
        return false;
    }
    if (cd_genesis_parse(&g, &c->v->arena, text, &why) != CD_OK) {
        vec_check(c->v, false, "genesis: %s", why.msg);
        return false;
    }
    cd_header *h = &c->head.header;
    *h = g.header;
    h->uncle_hash = CD_HASH_EMPTY_LIST;
    h->tx_root = CD_HASH_EMPTY_TRIE;
    h->receipt_root = CD_HASH_EMPTY_TRIE;
    h->withdrawals_root = CD_HASH_EMPTY_TRIE;
    h->base_fee = cd_u256_from_u64(CD_ETH_INITIAL_BASE_FEE);
    h->has = CD_HEADER_BASE_FEE | CD_HEADER_WITHDRAWALS_ROOT | CD_HEADER_BLOB_GAS_USED | CD_HEADER_EXCESS_BLOB_GAS |
             CD_HEADER_BEACON_ROOT;
    c->state = cd_mapstate_new(&c->v->arena, c->build, g.accounts, g.account_cnt);
    h->state_root = c->state->root;
    cd_header_hash(&c->head.hash, CD_HEADER_ETHEREUM, h);
    c->hashes[0] = c->head.hash;
    c->chain_id = g.config.chain_id;
    return true;
}

static cd_err import(chain *c, cd_bytes raw, cd_errinfo *why)
{
    cd_block b;
    cd_block_exec x;
    cd_arena *a = &c->v->arena;
    cd_eth_ctx ctx = {
        .chain_id = c->chain_id,
        .fork = CD_CANCUN,
        .parent_fork = CD_CANCUN,
        .blob = &CD_BLOB_CANCUN,
        .parent = &c->head.header,
    };
    CD_TRY(cd_block_dec(&b, a, CD_HEADER_ETHEREUM, raw, why));
    if (!cd_hash32_eq(&b.header.parent_hash, &c->head.hash)) {
        return cd_fail(why, CD_EINVAL, "another parent");
    }
    CD_TRY(cd_eth_header_check(&b.header, &ctx, why));
    CD_TRY(cd_eth_body_check(&b, &ctx, why));
    c->state->block_hash = block_hash;
    c->state->block_hash_ctx = c;
    cd_state_reset(c->st, &c->state->src);
    CD_TRY(cd_eth_execute(&x, &b, c->evm, c->st, a, &ctx, NULL, NULL, why));
    CD_TRY(cd_mapstate_next(&c->state, a, c->build, c->state, c->st));
    if (!cd_hash32_eq(&c->state->root, &b.header.state_root)) {
        return cd_fail(why, CD_EINVAL, "state root differs");
    }
    c->head = b;
    c->hashes[b.header.number % CD_COUNT(c->hashes)] = b.hash;
    return CD_OK;
}

int main(void)
{
    vec v = {0};
    chain c = {.v = &v};
    cd_bytes all;
    cd_json forks;
    c.build = cd_trie_build_new(NULL, NULL);
    c.evm = cd_evm_new();
    c.st = cd_state_new(NULL);
    if (open_genesis(&c) && vec_read(&v, &all, vec_path(&v, "rpc-compat/chain.rlp")) &&
        vec_json(&v, &forks, vec_path(&v, "rpc-compat/headfcu.json"))) {
        cd_rlp r = cd_rlp_init(all);
        while (cd_rlp_more(&r)) {
            cd_errinfo why = {0};
            bool ok = import(&c, cd_rlp_next(&r).raw, &why) == CD_OK;
            vec_check(&v, ok, "block %u: %s", (unsigned)c.head.header.number + 1, why.msg);
        }
        cd_hash32 want = {0};
        cd_json head = cd_json_get(cd_json_at(cd_json_get(forks, "params"), 0), "headBlockHash");
        bool found = cd_json_fixed(want.b, 32, head, NULL) == CD_OK;
        vec_check(&v, found && cd_hash32_eq(&want, &c.head.hash), "the head");
    }
    cd_state_free(c.st);
    cd_evm_free(c.evm);
    cd_trie_build_free(c.build);
    return vec_end(&v);
}
