/* The voting once more, as plainly as the text of spec/consensus.md says it: recursion, arrays, sets built anew each
 * time. What runs in a node is compared with it step by step. Test code. */
#ifndef CD_CONSENSUS_TEST_SNOW_MODEL_H
#define CD_CONSENSUS_TEST_SNOW_MODEL_H

#include "base/mem/arena.h"
#include "base/mem/mem.h"
#include "consensus/snow/poll.h"
#include "consensus/snow/tree.h"

enum { MODEL_BLOCKS_MAX = 40 };

/* --- the trie [spec:consensus#2] --- */

typedef struct model_node model_node;
struct model_node {
    bool binary, final;
    u32 d, c; /* binary: d is the bit */
    u32 confidence;
    cd_hash32 preference[2];
    u32 side;
    bool reset[2];
    model_node *child[2];
};

typedef struct model_trie {
    cd_arena *a;
    const cd_snow_params *p;
    model_node *root;
    bool reset;
} model_trie;

CD_INLINE u32 model_bit(const cd_hash32 *id, u32 i)
{
    return ((u32)id->b[i / 8] >> (i % 8)) & 1u;
}

CD_INLINE model_node *model_leaf(cd_arena *a, u32 d, const cd_hash32 *choice)
{
    model_node *n = cd_arena_new(a, model_node);
    n->d = d;
    n->c = 256;
    n->preference[0] = *choice;
    return n;
}

static inline model_node *model_add(cd_arena *a, model_node *n, const cd_hash32 *choice)
{
    if (n->binary) {
        u32 b = model_bit(choice, n->d);
        if (n->child[b] != NULL) {
            n->child[b] = model_add(a, n->child[b], choice);
        }
        return n;
    }
    if (n->final) {
        return n;
    }
    u32 i = n->d;
    while (i < n->c && model_bit(choice, i) == model_bit(&n->preference[0], i)) {
        i++;
    }
    if (i == n->c) {
        if (n->child[0] != NULL) {
            n->child[0] = model_add(a, n->child[0], choice);
        }
        return n;
    }
    model_node *b = cd_arena_new(a, model_node);
    u32 old = model_bit(&n->preference[0], i);
    b->binary = true;
    b->d = i;
    b->side = old;
    b->confidence = n->confidence;
    b->final = n->final;
    b->preference[old] = n->preference[0];
    b->preference[1 - old] = *choice;
    b->reset[0] = b->reset[1] = n->reset[0];
    if (n->d == n->c - 1) { /* a */
        if (n->child[0] != NULL) {
            b->child[old] = n->child[0];
            b->child[1 - old] = model_leaf(a, i + 1, choice);
        }
        return b;
    }
    if (i == n->d) { /* b */
        n->d++;
        b->child[old] = n;
        b->child[1 - old] = model_leaf(a, i + 1, choice);
        return b;
    }
    if (i == n->c - 1) { /* c */
        n->c--;
        if (n->child[0] != NULL) {
            b->child[old] = n->child[0];
            b->child[1 - old] = model_leaf(a, i + 1, choice);
        }
        n->child[0] = b;
        return n;
    }
    model_node *upper = cd_arena_new(a, model_node); /* d */
    *upper = *n;
    upper->c = i;
    upper->child[0] = b;
    n->d = i + 1;
    b->child[old] = n;
    b->child[1 - old] = model_leaf(a, i + 1, choice);
    return upper;
}

CD_INLINE u32 model_sum(const cd_snow_vote *v, u32 cnt)
{
    u32 sum = 0;
    for (u32 i = 0; i < cnt; i++) {
        sum += v[i].cnt;
    }
    return sum;
}

static inline model_node *model_record(const cd_snow_params *p, model_node *n, const cd_snow_vote *votes, u32 cnt,
                                       bool reset, bool *success)
{
    cd_snow_vote part[2][CD_SNOW_K_MAX];
    u32 part_cnt[2] = {0, 0};
    u32 b = 0;
    bool ignored;
    for (u32 i = 0; i < cnt; i++) {
        u32 to = n->binary ? model_bit(&votes[i].id, n->d) : 0;
        part[to][part_cnt[to]++] = votes[i];
    }
    if (n->binary) {
        b = model_sum(part[1], part_cnt[1]) >= p->alpha_preference ? 1 : 0;
    }
    if (reset) {
        n->confidence = 0;
        n->reset[b] = true;
    }
    if (n->binary) {
        n->reset[1 - b] = true;
    }
    u32 sum = model_sum(part[b], part_cnt[b]);
    *success = sum >= p->alpha_preference;
    if (!*success) {
        n->confidence = 0;
        n->reset[b] = true;
        return n;
    }
    if (!(n->binary && n->final)) {
        if (n->binary && b != n->side) {
            n->confidence = 0;
        }
        n->side = n->binary ? b : 0;
        n->confidence = sum >= p->alpha_confidence ? n->confidence + 1 : 0;
        n->final = n->final || n->confidence >= p->beta;
    }
    if (n->child[b] != NULL) {
        model_node *below = model_record(p, n->child[b], part[b], part_cnt[b], n->reset[b], &ignored);
        if (n->final) {
            return below;
        }
        n->child[b] = below;
        n->preference[b] = below->preference[below->side];
    }
    n->reset[b] = false;
    return n;
}

CD_INLINE bool model_agrees(const model_node *root, const cd_hash32 *id)
{
    for (u32 i = 0; i < root->d; i++) {
        if (model_bit(id, i) != model_bit(&root->preference[root->side], i)) {
            return false;
        }
    }
    return true;
}

CD_INLINE void model_trie_add(model_trie *t, const cd_hash32 *choice)
{
    if (model_agrees(t->root, choice)) {
        t->root = model_add(t->a, t->root, choice);
    }
}

CD_INLINE bool model_trie_poll(model_trie *t, const cd_snow_vote *votes, u32 cnt)
{
    cd_snow_vote kept[CD_SNOW_K_MAX];
    u32 kept_cnt = 0;
    bool success;
    for (u32 i = 0; i < cnt; i++) {
        if (model_agrees(t->root, &votes[i].id)) {
            kept[kept_cnt++] = votes[i];
        }
    }
    bool reset = t->reset;
    t->reset = false;
    t->root = model_record(t->p, t->root, kept, kept_cnt, reset, &success);
    return success;
}

/* --- the tree of blocks [spec:consensus#3] --- */

typedef struct model_block {
    cd_hash32 id;
    u32 parent; /* MODEL_BLOCKS_MAX: none */
    bool live;  /* undecided, or the last accepted one */
    bool falters, has_trie;
    model_trie trie;
    u32 votes;
} model_block;

typedef struct model_tree {
    cd_arena arena;
    cd_snow_params p;
    model_block b[MODEL_BLOCKS_MAX];
    u32 cnt, last, tail;
    bool preferred[MODEL_BLOCKS_MAX];
    cd_hash32 accepted[MODEL_BLOCKS_MAX], rejected[MODEL_BLOCKS_MAX];
    u32 accepted_cnt, rejected_cnt;
} model_tree;

CD_INLINE void model_init(model_tree *t, const cd_snow_params *p, const cd_hash32 *genesis)
{
    *t = (model_tree){.p = *p, .cnt = 1};
    t->b[0] = (model_block){.id = *genesis, .parent = MODEL_BLOCKS_MAX, .live = true};
}

CD_INLINE u32 model_find(const model_tree *t, const cd_hash32 *id)
{
    for (u32 i = 0; i < t->cnt; i++) {
        if (t->b[i].live && cd_hash32_eq(&t->b[i].id, id)) {
            return i;
        }
    }
    return MODEL_BLOCKS_MAX;
}

CD_INLINE void model_insert(model_tree *t, const cd_hash32 *id, u32 parent)
{
    u32 n = t->cnt++;
    model_block *p = &t->b[parent];
    t->b[n] = (model_block){.id = *id, .parent = parent, .live = true};
    if (p->has_trie) {
        model_trie_add(&p->trie, id);
    } else {
        p->trie = (model_trie){.a = &t->arena, .p = &t->p, .root = model_leaf(&t->arena, 0, id)};
        p->has_trie = true;
    }
    if (t->tail == parent) {
        t->tail = n;
        t->preferred[n] = true;
    }
}

CD_INLINE bool model_stands_on(const model_tree *t, u32 n, u32 on)
{
    while (n != MODEL_BLOCKS_MAX && n != on) {
        n = t->b[n].parent;
    }
    return n == on;
}

CD_INLINE u32 model_preferred_child(const model_tree *t, u32 n)
{
    const model_node *root = t->b[n].trie.root;
    return model_find(t, &root->preference[root->side]);
}

CD_INLINE void model_accept(model_tree *t, u32 parent)
{
    u32 next = model_preferred_child(t, parent);
    t->accepted[t->accepted_cnt++] = t->b[next].id;
    for (u32 i = 0; i < t->cnt; i++) {
        if (t->b[i].live && i != parent && !model_stands_on(t, i, next)) {
            t->b[i].live = false;
            t->rejected[t->rejected_cnt++] = t->b[i].id;
        }
    }
    t->b[parent].live = false;
    t->b[next].parent = MODEL_BLOCKS_MAX;
    t->preferred[next] = false;
    t->last = next;
}

/* Counts the votes among the children of n; out gets its live children with their votes. */
CD_INLINE u32 model_children(const model_tree *t, u32 n, cd_snow_vote *out, u32 *cnt)
{
    u32 sum = 0;
    *cnt = 0;
    for (u32 i = 0; i < t->cnt; i++) {
        if (t->b[i].live && t->b[i].parent == n && t->b[i].votes != 0) {
            out[(*cnt)++] = (cd_snow_vote){.id = t->b[i].id, .cnt = t->b[i].votes};
            sum += t->b[i].votes;
        }
    }
    return sum;
}

CD_INLINE void model_count(model_tree *t, const cd_snow_vote *votes, u32 cnt)
{
    for (u32 i = 0; i < t->cnt; i++) {
        t->b[i].votes = 0;
    }
    for (u32 i = 0; i < cnt; i++) {
        u32 n = model_find(t, &votes[i].id);
        while (n != MODEL_BLOCKS_MAX && n != t->last) {
            t->b[n].votes += votes[i].cnt;
            n = t->b[n].parent;
        }
    }
}

CD_INLINE void model_poll(model_tree *t, const cd_snow_vote *votes, u32 cnt)
{
    cd_snow_vote part[CD_SNOW_K_MAX];
    u32 path[MODEL_BLOCKS_MAX];
    u32 depth = 0;
    u32 part_cnt;
    u32 n = t->last;
    bool on_branch = true;
    t->accepted_cnt = 0;
    t->rejected_cnt = 0;
    model_count(t, votes, model_sum(votes, cnt) < t->p.alpha_preference ? 0 : cnt);
    while (n != MODEL_BLOCKS_MAX) { /* the blocks whose children have a quorum, from the top */
        u32 next = MODEL_BLOCKS_MAX;
        if (model_children(t, n, part, &part_cnt) >= t->p.alpha_preference) {
            path[depth++] = n;
            for (u32 i = 0; i < part_cnt; i++) {
                u32 child = model_find(t, &part[i].id);
                cd_snow_vote below[CD_SNOW_K_MAX];
                u32 below_cnt;
                if (model_children(t, child, below, &below_cnt) >= t->p.alpha_preference) {
                    next = child;
                }
            }
        }
        n = next;
    }
    if (depth == 0) {
        t->b[t->last].falters = true;
        return;
    }
    u32 preferred = t->last;
    for (u32 i = 0; i < depth && t->b[path[i]].live; i++) {
        model_block *b = &t->b[path[i]];
        u32 next = i + 1 < depth ? path[i + 1] : MODEL_BLOCKS_MAX;
        bool falters = b->falters;
        if (falters) {
            b->trie.reset = true;
            b->falters = false;
        }
        (void)model_children(t, path[i], part, &part_cnt);
        (void)model_trie_poll(&b->trie, part, part_cnt);
        u32 prefers = model_preferred_child(t, path[i]);
        for (u32 c = 0; c < t->cnt; c++) {
            if (t->b[c].live && t->b[c].parent == path[i] && (falters || c != next)) {
                t->b[c].falters = true;
            }
        }
        if (b->trie.root->final && path[i] == t->last) {
            model_accept(t, path[i]);
        }
        preferred = on_branch ? prefers : preferred;
        on_branch = on_branch && next == prefers;
    }
    if (t->preferred[preferred]) {
        return;
    }
    for (u32 i = 0; i < t->cnt; i++) {
        t->preferred[i] = false;
    }
    for (n = preferred; n != t->last; n = t->b[n].parent) {
        t->preferred[n] = true;
    }
    for (n = preferred; t->b[n].has_trie;) {
        n = model_preferred_child(t, n);
        t->preferred[n] = true;
    }
    t->tail = n;
}

/* --- the end of a poll [spec:consensus#4] --- */

CD_INLINE bool model_settled(const cd_snow_params *p, u32 f, u32 out)
{
    return f + out < p->alpha_preference || f >= p->alpha_confidence ||
           (f >= p->alpha_preference && f + out < p->alpha_confidence);
}

/* parents[i] is the index of block i's parent, UINT32_MAX: not known; votes[i] counts the votes for block i itself. */
static inline bool model_is_over(const cd_snow_params *p, const cd_hash32 *ids, const u32 *parents, const u32 *votes,
                                 u32 cnt, u32 out)
{
    u32 all[MODEL_BLOCKS_MAX] = {0};
    u32 total = 0;
    for (u32 i = 0; i < cnt; i++) {
        total += votes[i];
        for (u32 n = i; n != UINT32_MAX; n = parents[n]) {
            all[n] += votes[i];
        }
    }
    if (out == 0 || total + out < p->alpha_preference) {
        return true;
    }
    if (total == 0) {
        return false;
    }
    for (u32 i = 0; i < cnt; i++) {
        if (all[i] == 0) {
            continue;
        }
        if (!model_settled(p, all[i], out)) {
            return false;
        }
        for (u32 len = 1; parents[i] != UINT32_MAX && len < 256; len++) { /* each prefix that siblings fork at */
            u32 sum = 0;
            bool has[2] = {false, false};
            for (u32 j = 0; j < cnt; j++) {
                bool is_in = all[j] != 0 && parents[j] == parents[i];
                for (u32 bit = 0; is_in && bit < len; bit++) {
                    is_in = model_bit(&ids[j], bit) == model_bit(&ids[i], bit);
                }
                if (is_in) {
                    sum += all[j];
                    has[model_bit(&ids[j], len)] = true;
                }
            }
            if (has[0] && has[1] && !model_settled(p, sum, out)) {
                return false;
            }
        }
    }
    return true;
}

#endif
