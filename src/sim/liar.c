/* What liars do. They know every node's preference, but sign with their own keys only. */
#include "consensus/proposer/outer.h"
#include "crypto/hash/sha2.h"
#include "sim/sim_priv.h"

enum { STALE_BY = 12, SHOWN_TO = 3, FLOOD = 600, UNASKED = 8, FIRST_REQUEST = 1u << 31, FUTURE_S = 1000 };

const char *cd_sim_role_name(u32 bit)
{
    switch (bit) {
    case CD_SIM_EQUIVOCATE:
        return "equivocate";
    case CD_SIM_WITHHOLD:
        return "withhold";
    case CD_SIM_LIE:
        return "lie";
    case CD_SIM_INVALID:
        return "invalid";
    case CD_SIM_STALE:
        return "stale";
    case CD_SIM_SPAM:
        return "spam";
    default:
        return NULL;
    }
}

bool cd__world_lies(const sim_node *n)
{
    return n->is_liar && n->w->lying != 0;
}

static u32 any_node(sim_node *n)
{
    return (u32)cd_rng_below(&n->lie_rng, n->w->cfg.nodes);
}

static cd_hash32 any_id(sim_node *n)
{
    cd_hash32 id;
    cd_rng_fill(&n->lie_rng, id.b, sizeof id.b);
    return id;
}

/* --- answers --- */

/* A preference of some node other than the asker's, or an ID that no node knows. */
static cd_hash32 other_side(sim_node *n, u32 to)
{
    const world *w = n->w;
    const cd_hash32 *own = &w->nodes[to].shown;
    u32 start = any_node(n);
    for (u32 i = 0; i < w->cfg.nodes; i++) {
        const sim_node *other = &w->nodes[(start + i) % w->cfg.nodes];
        if (!other->is_liar && other->is_up && !cd_hash32_eq(&other->shown, own)) {
            return other->shown;
        }
    }
    return cd_rng_below(&n->lie_rng, 4) == 0 ? any_id(n) : *own;
}

bool cd__world_lie_chits(sim_node *n, u32 to, cd_snow_chits *c)
{
    const world *w = n->w;
    if ((n->roles & CD_SIM_WITHHOLD) != 0) {
        return false;
    }
    if ((n->roles & CD_SIM_STALE) != 0) {
        u64 height = w->chain_cnt > STALE_BY ? w->chain_cnt - STALE_BY : 0;
        c->preferred = w->chain[height].id;
        c->preferred_at_height = c->preferred;
        c->accepted = c->preferred;
        c->accepted_height = height;
    } else if ((n->roles & CD_SIM_LIE) != 0) {
        c->preferred = other_side(n, to);
        c->preferred_at_height = c->preferred;
    } else if ((n->roles & CD_SIM_EQUIVOCATE) != 0 && !cd_hash32_is_zero(&w->nodes[to].shown)) {
        c->preferred = w->nodes[to].shown;
        c->preferred_at_height = c->preferred;
    }
    return true;
}

/* --- blocks --- */

/* Makes an outer block, signed by this node if is_signed. */
static void wrap(const sim_node *n, cd_buf *out, cd_outer *o, bool is_signed)
{
    static const cd_hash32 chain_id;
    u8 header[CD_OUTER_HEADER_LEN];
    const cd_staking *s = &n->w->stake.nodes[n->no].staking;
    cd_buf sig = {0};
    o->cert = is_signed ? s->cert : (cd_bytes){0};
    cd_outer_put(out, o);
    if (is_signed) {
        cd_sha256(&o->id, cd_buf_bytes(out));
        cd_outer_header(header, &chain_id, &o->parent, &o->id);
        cd_err e = s->sign(s, &sig, cd_bytes_of(header, sizeof header), NULL);
        CD_ASSERT(e == CD_OK);
    }
    cd_outer_put_signature(out, cd_buf_bytes(&sig));
    cd_buf_fini(&sig);
}

static void remember_twin(sim_node *n)
{
    cd_outer o;
    if (n->w->cfg.is_bare || cd_outer_parse(&o, cd_buf_bytes(&n->twin), NULL) != CD_OK) {
        cd_sha256(&n->twin_id, cd_buf_bytes(&n->twin));
    } else {
        n->twin_id = o.id;
    }
}

/* Makes another block in the place of one of our own; false: it cannot be made. */
static bool make_twin(sim_node *n, cd_bytes block)
{
    cd_outer o;
    cd_buf inner = {0};
    u64 tx = (1ull << 40) + ((u64)n->no << 20) + (n->seq & 0xfffff);
    cd_buf_clear(&n->twin);
    if (n->w->cfg.is_bare) {
        return cd_sim_chain_twin(n->chain, &n->twin, block, tx) == CD_OK;
    }
    bool is_made =
        cd_outer_parse(&o, block, NULL) == CD_OK && cd_sim_chain_twin(n->chain, &inner, o.inner, tx) == CD_OK;
    if (is_made) {
        o.inner = cd_buf_bytes(&inner);
        wrap(n, &n->twin, &o, o.cert.n != 0);
    }
    cd_buf_fini(&inner);
    return is_made;
}

bool cd__world_lie_push(sim_node *n, const u32 *to, u32 cnt, u32 request, cd_bytes block, u64 height)
{
    if ((n->roles & CD_SIM_EQUIVOCATE) == 0 || !make_twin(n, block)) {
        return false;
    }
    remember_twin(n);
    cd_sim_trace_put(n->w->cfg.trace, 'w', n->now_us, "node %u shows two blocks: the other one is %s", n->no,
                     cd_sim_trace_id(&n->twin_id).s);
    for (u32 i = 0; i < cnt; i++) {
        cd_p2p_chain_msg m = {
            .request_id = request, .height = height, .data = to[i] % 2 == 0 ? block : cd_buf_bytes(&n->twin)};
        cd__world_say(n, &to[i], 1, CD_P2P_PUSH_QUERY, &m);
    }
    return true;
}

bool cd__world_lie_get(sim_node *n, u32 from, u32 request, const cd_hash32 *id)
{
    if ((n->roles & CD_SIM_WITHHOLD) != 0) {
        return true;
    }
    if (n->twin.n == 0 || !cd_hash32_eq(id, &n->twin_id)) {
        return false;
    }
    cd_p2p_chain_msg m = {.request_id = request, .data = cd_buf_bytes(&n->twin)};
    cd__world_say(n, &from, 1, CD_P2P_PUT, &m);
    return true;
}

static void show(sim_node *n, cd_bytes block)
{
    for (u32 i = 0; i < SHOWN_TO; i++) {
        u32 to = any_node(n);
        cd_p2p_chain_msg m = {.request_id = FIRST_REQUEST + n->spam_request++, .data = block, .height = 1};
        cd__world_say(n, &to, 1, CD_P2P_PUSH_QUERY, &m);
    }
}

/* Makes something wrong in the outer block. */
static void spoil_outer(sim_node *n, cd_buf *out, cd_outer *o)
{
    u64 what = cd_rng_below(&n->lie_rng, 5);
    o->time += what == 0 ? FUTURE_S : 0;
    o->pchain_height += what == 1 ? FUTURE_S : 0;
    o->parent = what == 2 ? any_id(n) : o->parent;
    wrap(n, out, o, true);
    if (what == 3) {
        out->p[out->n - 1] ^= 1;
    }
}

/* Shows a block in the place of the preferred one with something wrong in it. */
static void show_invalid(sim_node *n)
{
    cd_vm_block *b;
    cd_outer o;
    cd_buf inner = {0};
    cd_buf out = {0};
    cd_vm *vm = n->audit.below;
    if (vm->ops->get(vm, &b, &n->audit.preferred) != CD_OK) {
        return;
    }
    bool is_outer = !n->w->cfg.is_bare && cd_outer_parse(&o, b->bytes, NULL) == CD_OK;
    bool spoils_inner = !is_outer || cd_rng_below(&n->lie_rng, 2) == 0;
    cd_bytes own = is_outer ? o.inner : b->bytes;
    cd_sim_wrong wrong = (cd_sim_wrong)cd_rng_below(&n->lie_rng, CD_SIM_WRONGS);
    if (spoils_inner && cd_sim_chain_spoil(&inner, own, wrong) == CD_OK) {
        own = cd_buf_bytes(&inner);
    }
    if (is_outer) {
        o.inner = own;
        spoil_outer(n, &out, &o);
    } else {
        cd_buf_put(&out, own);
    }
    show(n, cd_buf_bytes(&out));
    vm->ops->release(vm, b);
    cd_buf_fini(&inner);
    cd_buf_fini(&out);
}

/* Shows blocks with unknown parents, as many as engines have room for. */
static void flood(sim_node *n)
{
    cd_vm_block *b;
    cd_outer o;
    cd_vm *vm = n->audit.below;
    if (n->w->cfg.is_bare || vm->ops->get(vm, &b, &n->audit.preferred) != CD_OK) {
        return;
    }
    u32 to = any_node(n);
    for (u32 i = 0; i < FLOOD && cd_outer_parse(&o, b->bytes, NULL) == CD_OK; i++) {
        cd_buf out = {0};
        o.parent = any_id(n);
        o.time += i;
        wrap(n, &out, &o, true);
        cd_p2p_chain_msg m = {.request_id = FIRST_REQUEST + n->spam_request++, .data = cd_buf_bytes(&out)};
        cd__world_say(n, &to, 1, CD_P2P_PUSH_QUERY, &m);
        cd_buf_fini(&out);
    }
    vm->ops->release(vm, b);
}

/* --- what nobody has asked for --- */

static void spam(sim_node *n)
{
    u8 nonsense[64];
    u32 to = any_node(n);
    cd_rng_fill(&n->lie_rng, nonsense, sizeof nonsense);
    cd__world_raw(n, to, cd_bytes_of(nonsense, 1 + cd_rng_below(&n->lie_rng, sizeof nonsense)));
    for (u32 i = 0; i < UNASKED; i++) {
        cd_hash32 id = i % 2 == 0 ? any_id(n) : n->audit.preferred;
        cd_bytes b = cd_bytes_of(id.b, 32);
        cd_p2p_chain_msg chits = {.request_id = (u32)cd_rng_below(&n->lie_rng, 100000),
                                  .height = n->audit.last_height + 1000,
                                  .preferred_id = b,
                                  .preferred_id_at_height = b,
                                  .accepted_id = b};
        cd_p2p_chain_msg ask_for = {.request_id = FIRST_REQUEST + n->spam_request++, .data = b, .height = 1};
        to = any_node(n);
        cd__world_say(n, &to, 1, CD_P2P_CHITS, &chits);
        cd__world_say(n, &to, 1, i % 4 < 2 ? CD_P2P_PULL_QUERY : CD_P2P_GET, &ask_for);
    }
}

void cd__world_lie_tick(sim_node *n)
{
    u64 r = cd_rng_below(&n->lie_rng, 20);
    if ((n->roles & CD_SIM_INVALID) != 0 && r < 4) {
        show_invalid(n);
    }
    if ((n->roles & CD_SIM_SPAM) != 0) {
        if (r == 0) {
            flood(n);
        } else if (r < 10) {
            spam(n);
        }
    }
}
