#include "consensus/snow/flake.h"

#include "base/mem/mem.h"
#include "consensus/snow/mutant_priv.h"

enum { BITS = 256, NONE = 0xffffffff };

u32 cd_snow_first_diff(const cd_hash32 *a, const cd_hash32 *b, u32 from, u32 to)
{
    u32 i = from;
    while (i < to) {
        u32 diff = (u32)(a->b[i / 8] ^ b->b[i / 8]) >> (i % 8);
        if (diff != 0) {
            i += (u32)__builtin_ctz(diff);
            return i < to ? i : to;
        }
        i += 8 - i % 8;
    }
    return to;
}

static u32 node_new(cd_flake *f)
{
    if (f->cnt == f->cap) {
        f->cap = f->cap == 0 ? 1 : f->cap * 2;
        f->nodes = cd_realloc(f->nodes, f->cap * sizeof *f->nodes);
    }
    f->nodes[f->cnt] = (cd_flake_node){.child = {NONE, NONE}};
    return f->cnt++;
}

static u32 leaf_new(cd_flake *f, u32 decided, const cd_hash32 *choice)
{
    u32 n = node_new(f);
    f->nodes[n].decided = (u16)decided;
    f->nodes[n].common = BITS;
    f->nodes[n].prefers[0] = *choice;
    return n;
}

void cd_flake_init(cd_flake *f, const cd_hash32 *choice)
{
    *f = (cd_flake){0};
    f->root = leaf_new(f, 0, choice);
}

void cd_flake_fini(cd_flake *f)
{
    cd_free(f->nodes);
    *f = (cd_flake){0};
}

static const cd_hash32 *preference_of(const cd_flake *f, u32 n)
{
    return &f->nodes[n].prefers[f->nodes[n].side];
}

const cd_hash32 *cd_flake_preference(const cd_flake *f)
{
    return preference_of(f, f->root);
}

bool cd_flake_is_final(const cd_flake *f)
{
    return f->nodes[f->root].is_final;
}

/* --- adding --- */

/* Splits the unary node n at bit i, where choice differs from what it prefers; gives what stands in its place. */
static u32 split(cd_flake *f, u32 n, u32 i, const cd_hash32 *choice)
{
    cd_hash32 old = f->nodes[n].prefers[0];
    u32 side = cd_snow_bit(&old, i);
    u32 b = node_new(f);
    u32 leaf = i + 1 < BITS ? leaf_new(f, i + 1, choice) : (u32)NONE;
    u32 upper = node_new(f);
    cd_flake_node *u = &f->nodes[n];
    cd_flake_node *bin = &f->nodes[b];
    bool is_first = i == u->decided;
    bool is_last = i + 1 == u->common;
    u32 below = u->child[0]; /* what stands behind the last bit of u */
    *bin = (cd_flake_node){
        .is_binary = true,
        .should_reset = {u->should_reset[0], u->should_reset[0]},
        .side = (u8)side,
        .decided = (u16)i,
        .confidence = u->confidence,
        .child = {NONE, NONE},
    };
    bin->prefers[side] = old;
    bin->prefers[1 - side] = *choice;
    f->nodes[upper] = *u;
    f->nodes[upper].common = (u16)i;
    f->nodes[upper].child[0] = b;
    u->decided = (u16)(i + 1); /* n is now the part behind bit i; empty when that was its last bit */
    if (!is_last || below != NONE) {
        bin->child[side] = is_last ? below : n;
        bin->child[1 - side] = leaf;
    }
    return is_first ? b : upper;
}

void cd_flake_add(cd_flake *f, const cd_hash32 *choice)
{
    u32 n = f->root;
    u32 parent = NONE;
    u32 from = 0;
    u32 decided = f->nodes[n].decided;
    if (cd_snow_first_diff(choice, cd_flake_preference(f), 0, decided) < decided) {
        return;
    }
    for (;;) {
        const cd_flake_node *at = &f->nodes[n];
        u32 side = at->is_binary ? cd_snow_bit(choice, at->decided) : 0;
        if (at->is_final) {
            return;
        }
        if (!at->is_binary) {
            u32 i = cd_snow_first_diff(choice, &at->prefers[0], at->decided, at->common);
            if (i < at->common) {
                u32 top = split(f, n, i, choice);
                *(parent == NONE ? &f->root : &f->nodes[parent].child[from]) = top;
                return;
            }
        }
        if (at->child[side] == NONE) {
            return;
        }
        parent = n;
        from = side;
        n = at->child[side];
    }
}

/* --- polls --- */

static u32 sum_of(const cd_snow_vote *votes, u32 cnt)
{
    u32 sum = 0;
    for (u32 i = 0; i < cnt; i++) {
        sum += votes[i].cnt;
    }
    return sum;
}

/* Moves the votes for choices whose bit i is 0 to the front, and counts them. */
static u32 partition(cd_snow_vote *votes, u32 cnt, u32 i)
{
    u32 zeros = 0;
    for (u32 v = 0; v < cnt; v++) {
        if (cd_snow_bit(&votes[v].id, i) == 0) {
            cd_snow_vote other = votes[zeros];
            votes[zeros++] = votes[v];
            votes[v] = other;
        }
    }
    return zeros;
}

static bool is_quorum(const cd_snow_params *p, u32 votes)
{
    return votes >= p->alpha_preference || (CD_MUTANT(NO_QUORUM) && votes != 0);
}

static void count_confidence(cd_flake_node *n, const cd_snow_params *p, u32 votes)
{
    n->confidence = votes >= p->alpha_confidence || CD_MUTANT(NO_QUORUM) ? n->confidence + 1 : 0;
    n->is_final = n->is_final || n->confidence >= p->beta || CD_MUTANT(NO_BETA);
}

/* Counts votes at a unary node: whether they are a quorum, and the side to go on with. */
static bool poll_unary(cd_flake_node *n, const cd_snow_params *p, u32 votes, bool reset)
{
    if (reset) {
        n->confidence = 0;
        n->should_reset[0] = true;
    }
    if (!is_quorum(p, votes)) {
        n->confidence = 0;
        n->should_reset[0] = true;
        return false;
    }
    count_confidence(n, p, votes);
    return true;
}

static bool poll_binary(cd_flake_node *n, const cd_snow_params *p, const u32 votes[2], bool reset, u32 *side)
{
    u32 b = votes[1] >= p->alpha_preference || (CD_MUTANT(NO_QUORUM) && votes[1] > votes[0]) ? 1 : 0;
    *side = b;
    if (reset) {
        n->confidence = 0;
        n->should_reset[b] = true;
    }
    n->should_reset[1 - b] = true;
    if (!is_quorum(p, votes[b])) {
        n->confidence = 0;
        n->should_reset[b] = true;
        return false;
    }
    if (!n->is_final) {
        n->confidence = b == n->side ? n->confidence : 0;
        n->side = (u8)b;
        count_confidence(n, p, votes[b]);
    }
    return true;
}

/* Counts votes at the node n; *votes and *cnt become those for the side to go on with. */
static bool poll_node(cd_flake_node *n, const cd_snow_params *p, cd_snow_vote **votes, u32 *cnt, bool reset, u32 *side)
{
    *side = 0;
    if (!n->is_binary) {
        return poll_unary(n, p, sum_of(*votes, *cnt), reset);
    }
    u32 zeros = partition(*votes, *cnt, n->decided);
    const u32 sums[2] = {sum_of(*votes, zeros), sum_of(*votes + zeros, *cnt - zeros)};
    bool has_quorum = poll_binary(n, p, sums, reset, side);
    *votes += *side == 0 ? 0 : zeros;
    *cnt = *side == 0 ? zeros : *cnt - zeros;
    return has_quorum;
}

/* Keeps the votes for choices that agree with what is decided. */
static u32 keep_possible(const cd_flake *f, cd_snow_vote *votes, u32 cnt)
{
    u32 kept = 0;
    u32 decided = f->nodes[f->root].decided;
    const cd_hash32 *preference = cd_flake_preference(f);
    for (u32 i = 0; i < cnt; i++) {
        if (cd_snow_first_diff(&votes[i].id, preference, 0, decided) == decided) {
            cd_snow_vote other = votes[kept];
            votes[kept++] = votes[i];
            votes[i] = other;
        }
    }
    return kept;
}

bool cd_flake_poll(cd_flake *f, const cd_snow_params *p, cd_snow_vote *votes, u32 cnt)
{
    u32 path[2 * BITS + 1];
    u8 sides[2 * BITS + 1];
    u32 depth = 0;
    u32 side;
    bool has_quorum;
    bool reset = f->should_reset;
    u32 n = f->root;
    f->should_reset = false;
    cnt = keep_possible(f, votes, cnt);
    do { /* there always is a root */
        cd_flake_node *at = &f->nodes[n];
        has_quorum = poll_node(at, p, &votes, &cnt, reset, &side);
        path[depth] = n;
        sides[depth++] = (u8)side;
        reset = at->should_reset[side];
        n = at->child[side];
    } while (has_quorum && n != NONE);
    bool at_root = depth > 1 || has_quorum;
    /* Upwards again: what is decided gives way to the node below. The last node stays as it is if it had no quorum. */
    u32 result = path[depth - 1];
    if (has_quorum) {
        f->nodes[result].should_reset[sides[depth - 1]] = false;
    }
    for (u32 d = depth - 1; d-- != 0;) {
        cd_flake_node *at = &f->nodes[path[d]];
        if (!at->is_final) {
            at->child[sides[d]] = result;
            at->prefers[sides[d]] = *preference_of(f, result);
            at->should_reset[sides[d]] = false;
            result = path[d];
        }
    }
    f->root = result;
    return at_root;
}

u32 cd_flake_confidence(const cd_flake *f)
{
    return f->nodes[f->root].confidence;
}
