#include "base/num_text.h"
#include "base/text.h"
#include "explorer/primary/primary_priv.h"

/* A height with its chain in front: "P/12", "x/1,024". */
static const char *by_height(cd__pp *p, cd_bytes t)
{
    char digits[CD_U64_TEXT_MAX];
    usize n = 0;
    u64 height;
    bool is_p = t.n > 2 && (t.p[0] | 0x20) == 'p' && t.p[1] == '/';
    bool is_x = t.n > 2 && (t.p[0] | 0x20) == 'x' && t.p[1] == '/';
    for (usize i = 2; i < t.n && (is_p || is_x) && n < sizeof digits; i++) {
        if (t.p[i] != ',') {
            digits[n++] = (char)t.p[i];
        }
    }
    bool is_plain = false;
    if (!is_p && !is_x && p->chain != CD_PRIMARY_C && cd_u64_parse(&height, t) == CD_OK) {
        is_plain = true;
    }
    if (!is_plain && ((!is_p && !is_x) || cd_u64_parse(&height, cd_bytes_of(digits, n)) != CD_OK)) {
        return NULL;
    }
    return cd_arena_fmt(&p->a, "%s/%s/block/%llu", p->m->cfg.root,
                        is_plain ? cd__pp_letters[p->chain]
                        : is_p   ? "P"
                                 : "X",
                        (unsigned long long)height);
}

static const char *go(cd__pp *p, const char *chain, const char *page, cd_bytes what)
{
    return cd_arena_fmt(&p->a, "%s/%s/%s/%.*s", p->m->cfg.root, chain, page, (int)what.n, (const char *)what.p);
}

/* An ID: of a network, a transaction of any chain, a block, a validator of an L1. */
static const char *by_id(cd__pp *p, cd_bytes t)
{
    cd_hash32 id;
    cd_owners owner;
    cd_bytes bytes;
    cd__pp_any any;
    cd_buf raw = {0};
    if (cd_id_parse(&id, t, NULL) != CD_OK) {
        return NULL;
    }
    if (p->p.state.kv != NULL) {
        cd_p_l1 l1;
        cd_p_chain chain;
        if (cd_pstate_net_owner_get(&p->p.state, &owner, &p->a, &id) == CD_OK) {
            return go(p, "P", "network", t);
        }
        if (cd_pstate_chain_get(&p->p.state, &chain, &id) == CD_OK) {
            return go(p, "P", "chain", t);
        }
        if (cd_pstate_l1_get(&p->p.state, &l1, &p->a, &id) == CD_OK) {
            return go(p, "P", "network", cd__pp_id_text(p, &l1.net_id));
        }
        if (cd_pstate_block_get(&p->p.state, &bytes, &p->a, &id) == CD_OK) {
            return go(p, "P", "block", t);
        }
    }
    for (cd_primary_chain c = 0; c < CD_PRIMARY_CHAINS; c++) {
        if (cd__pp_tx_any(p, &any, c, &id, NULL, NULL) == CD_OK) {
            return go(p, cd__pp_letters[c], c == CD_PRIMARY_X && any.type == CD_X_CREATE_ASSET ? "asset" : "tx", t);
        }
    }
    const char *to = p->x.kv != NULL && cd_xvm_get_block(p->x.kv, &raw, &id) == CD_OK ? go(p, "X", "block", t) : NULL;
    cd_buf_fini(&raw);
    return to;
}

static const char *by_any(cd__pp *p, cd_bytes t)
{
    cd_node_id node;
    cd_chain_addr addr;
    if (cd_node_id_parse(&node, t, NULL) == CD_OK) {
        return go(p, "P", "validator", t);
    }
    bool is_addr = cd_chain_addr_parse(&addr, t, NULL) == CD_OK && strcmp(addr.prefix, p->network->prefix) == 0;
    if (is_addr) {
        return go(p, addr.chain.n == 1 && addr.chain.p[0] == 'X' ? "X" : "P", "address", t);
    }
    const char *to = by_height(p, t);
    return to != NULL ? to : by_id(p, t);
}

const char *cd_primary_search(cd_primary *m, cd_primary_chain chain, cd_arena *a, cd_bytes typed)
{
    cd__pp *p = cd__pp_open(m, chain, NULL);
    const char *to = by_any(p, cd_text_trim(typed, NULL));
    to = to == NULL ? NULL : cd_arena_fmt(a, "%s", to);
    cd__pp_close(p);
    return to;
}
