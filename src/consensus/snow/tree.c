#include "consensus/snow/tree.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "consensus/snow/mutant_priv.h"

enum { NONE = 0xffffffff };

/* A block's place in the tree; the last accepted block has one, too. */
typedef struct place {
    cd_hash32 id;
    u64 height;
    void *user;
    u32 parent; /* index in places, or NONE, as are child and sibling */
    u32 child;
    u32 sibling;
    bool is_live;
    bool is_preferred;
    bool should_falter; /* a poll passed it by or had no quorum: its flake counts a failure before the next votes */
    bool has_flake;     /* it has, or has had, children */
    cd_flake flake;
    u64 poll;   /* the newest poll with votes for it */
    u32 votes;  /* votes in that poll, for it and its descendants */
    u32 direct; /* votes in that poll for it alone */
} place;

struct cd_snow_tree {
    cd_snow_params params;
    cd_hmap by_id; /* cd_hash32 -> u32 */
    place *places;
    u32 cap;
    u32 used; /* places[used] and those behind it were never used */
    u32 free; /* first of the places that are free again, linked by sibling */
    u32 cnt;  /* undecided blocks */
    u32 last;
    u32 tail; /* the preferred leaf */
    u64 poll;
    cd_snow_vote *scratch;
    cd_snow_decision *decisions;
    u32 decision_cnt;
};

/* --- places --- */

static u32 find(const cd_snow_tree *t, const cd_hash32 *id)
{
    const u32 *at = cd_hmap_get(&t->by_id, id);
    return at == NULL ? (u32)NONE : *at;
}

static u32 place_new(cd_snow_tree *t, const cd_hash32 *id, u64 height, void *user)
{
    u32 n = t->free;
    if (n != NONE) {
        t->free = t->places[n].sibling;
    } else {
        if (t->used == t->cap) {
            t->cap = t->cap == 0 ? 16 : t->cap * 2;
            t->places = cd_realloc(t->places, t->cap * sizeof *t->places);
            t->decisions = cd_realloc(t->decisions, t->cap * sizeof *t->decisions);
        }
        n = t->used++;
    }
    t->places[n] = (place){
        .id = *id, .height = height, .user = user, .parent = NONE, .child = NONE, .sibling = NONE, .is_live = true};
    *(u32 *)cd_hmap_put(&t->by_id, NULL, id) = n;
    return n;
}

static void place_free(cd_snow_tree *t, u32 n)
{
    place *p = &t->places[n];
    (void)cd_hmap_del(&t->by_id, &p->id);
    if (p->has_flake) {
        cd_flake_fini(&p->flake);
    }
    p->is_live = false;
    p->has_flake = false;
    p->sibling = t->free;
    t->free = n;
}

cd_snow_tree *cd_snow_tree_new(const cd_snow_params *params, const cd_hash32 *last, u64 height)
{
    cd_snow_tree *t = cd_new(cd_snow_tree);
    t->params = *params;
    t->free = NONE;
    cd_hmap_init(&t->by_id, CD_HASH_KEYED, sizeof(cd_hash32), sizeof(u32));
    t->scratch = cd_new_array(cd_snow_vote, params->k);
    t->last = place_new(t, last, height, NULL);
    t->tail = t->last;
    return t;
}

void cd_snow_tree_free(cd_snow_tree *t)
{
    if (t == NULL) {
        return;
    }
    for (u32 n = 0; n < t->used; n++) {
        if (t->places[n].has_flake) {
            cd_flake_fini(&t->places[n].flake);
        }
    }
    cd_hmap_fini(&t->by_id);
    cd_free(t->places);
    cd_free(t->scratch);
    cd_free(t->decisions);
    cd_free(t);
}

cd_err cd_snow_tree_add(cd_snow_tree *t, const cd_hash32 *id, const cd_hash32 *parent, u64 height, void *user,
                        cd_errinfo *why)
{
    u32 above = find(t, parent);
    if (find(t, id) != NONE) {
        return cd_fail(why, CD_EEXIST, "duplicate add");
    }
    if (above == NONE) {
        return cd_fail(why, CD_ENOENT, "unknown parent block");
    }
    u32 n = place_new(t, id, height, user);
    place *p = &t->places[above];
    t->places[n].parent = above;
    t->places[n].sibling = p->child;
    p->child = n;
    if (p->has_flake) {
        cd_flake_add(&p->flake, id);
    } else {
        cd_flake_init(&p->flake, id);
        p->has_flake = true;
    }
    t->cnt++;
    if (t->tail == above) {
        t->tail = n;
        t->places[n].is_preferred = true;
    }
    return CD_OK;
}

/* --- deciding --- */

static void decide(cd_snow_tree *t, u32 n, bool is_accepted)
{
    t->decisions[t->decision_cnt++] =
        (cd_snow_decision){.id = t->places[n].id, .user = t->places[n].user, .is_accepted = is_accepted};
    t->cnt--;
}

/* Rejects n and its descendants, parents first. */
static void reject(cd_snow_tree *t, u32 n)
{
    u32 at = n;
    decide(t, n, false);
    for (;;) {
        u32 down = t->places[at].child;
        if (down != NONE) {
            t->places[at].child = t->places[down].sibling; /* out of the list: it is not visited again */
            at = down;
            decide(t, at, false);
            continue;
        }
        u32 up = t->places[at].parent;
        place_free(t, at);
        if (at == n) {
            return;
        }
        at = up;
    }
}

/* Accepts the preferred child of the last accepted block. The old one keeps its place until the caller frees it. */
static void accept_child(cd_snow_tree *t, u32 old)
{
    u32 next = find(t, cd_flake_preference(&t->places[old].flake));
    CD_ASSERT(next != NONE && t->places[next].parent == old);
    decide(t, next, true);
    for (u32 c = t->places[old].child; c != NONE;) {
        u32 sibling = t->places[c].sibling;
        if (c != next) {
            reject(t, c);
        }
        c = sibling;
    }
    t->places[old].child = next;
    t->places[next].sibling = NONE;
    t->places[next].parent = NONE;
    t->places[next].is_preferred = false;
    t->last = next;
}

/* --- votes --- */

/* A vote for a block is one for each of its ancestors; votes for blocks that are not undecided do not count. */
static void count_votes(cd_snow_tree *t, const cd_snow_vote *votes, u32 cnt)
{
    for (u32 i = 0; i < cnt; i++) {
        u32 n = find(t, &votes[i].id);
        if (n == NONE || n == t->last) {
            continue;
        }
        bool is_direct = true;
        for (; n != NONE; n = t->places[n].parent) {
            place *p = &t->places[n];
            if (p->poll != t->poll) {
                p->poll = t->poll;
                p->votes = 0;
                p->direct = 0;
            }
            p->votes += votes[i].cnt;
            p->direct += is_direct ? votes[i].cnt : 0;
            is_direct = false;
        }
    }
}

/* Votes of this poll for the descendants of n, n left out. */
static u32 votes_below(const cd_snow_tree *t, u32 n)
{
    const place *p = &t->places[n];
    return p->poll == t->poll ? p->votes - p->direct : 0;
}

static u32 quorum(const cd_snow_tree *t)
{
    return CD_MUTANT(NO_QUORUM) ? 1 : t->params.alpha_preference;
}

/* The child of n whose descendants have a quorum of votes; NONE: the voting ends here. */
static u32 next_voted(const cd_snow_tree *t, u32 n)
{
    u32 c = t->places[n].child;
    while (c != NONE && votes_below(t, c) < quorum(t)) {
        c = t->places[c].sibling;
    }
    return c;
}

static bool poll_children(cd_snow_tree *t, u32 n)
{
    u32 cnt = 0;
    for (u32 c = t->places[n].child; c != NONE; c = t->places[c].sibling) {
        const place *p = &t->places[c];
        if (p->poll == t->poll && p->votes != 0) {
            CD_ASSERT(cnt < t->params.k);
            t->scratch[cnt++] = (cd_snow_vote){.id = p->id, .cnt = p->votes};
        }
    }
    return cd_flake_poll(&t->places[n].flake, &t->params, t->scratch, cnt);
}

/* Polls the children of n. *next is the child to go on with, NONE when it has been rejected; *prefers becomes the
 * preferred child of n. */
static void vote_at(cd_snow_tree *t, u32 n, u32 *next, u32 *prefers)
{
    bool falters = t->places[n].should_falter;
    u32 voted = *next;
    if (falters) {
        cd_flake_fail(&t->places[n].flake);
        t->places[n].should_falter = false;
    }
    (void)poll_children(t, n);
    bool is_decided = n == t->last && cd_flake_is_final(&t->places[n].flake);
    if (is_decided) {
        accept_child(t, n);
    }
    *prefers = find(t, cd_flake_preference(&t->places[n].flake));
    for (u32 c = t->places[n].child; c != NONE; c = t->places[c].sibling) {
        if (falters || c != voted) {
            t->places[c].should_falter = true;
        }
    }
    if (voted != NONE && !t->places[voted].is_live) {
        *next = NONE;
    }
    if (is_decided) {
        place_free(t, n);
    }
}

/* Applies the votes, from the last accepted block on, and gives the preferred block that they lead to. */
static u32 vote(cd_snow_tree *t)
{
    bool on_preferred = true;
    u32 n = t->last;
    u32 preferred = n;
    while (n != NONE) {
        u32 next = next_voted(t, n);
        u32 voted = next;
        u32 prefers;
        vote_at(t, n, &next, &prefers);
        preferred = on_preferred ? prefers : preferred;
        on_preferred = on_preferred && voted != NONE && voted == prefers;
        n = next;
    }
    return preferred;
}

static void prefer_branch(cd_snow_tree *t, u32 from)
{
    for (u32 n = 0; n < t->used; n++) {
        t->places[n].is_preferred = false;
    }
    for (u32 n = from; n != t->last; n = t->places[n].parent) {
        t->places[n].is_preferred = true;
    }
    u32 n = from;
    while (t->places[n].child != NONE) {
        n = find(t, cd_flake_preference(&t->places[n].flake));
        t->places[n].is_preferred = true;
    }
    t->tail = n;
}

const cd_snow_decision *cd_snow_tree_poll(cd_snow_tree *t, u32 *cnt, const cd_snow_vote *votes, u32 vote_cnt)
{
    u32 total = 0;
    t->decision_cnt = 0;
    t->poll++;
    for (u32 i = 0; i < vote_cnt; i++) {
        total += votes[i].cnt;
    }
    CD_ASSERT(total <= t->params.k);
    if (total >= quorum(t)) {
        count_votes(t, votes, vote_cnt);
    }
    if (votes_below(t, t->last) < quorum(t)) {
        t->places[t->last].should_falter = true;
    } else {
        u32 preferred = vote(t);
        if (!t->places[preferred].is_preferred) {
            prefer_branch(t, preferred);
        }
    }
    *cnt = t->decision_cnt;
    return t->decisions;
}

/* --- questions --- */

void cd_snow_tree_last(const cd_snow_tree *t, cd_hash32 *id, u64 *height)
{
    *id = t->places[t->last].id;
    *height = t->places[t->last].height;
}

const cd_hash32 *cd_snow_tree_preference(const cd_snow_tree *t)
{
    return &t->places[t->tail].id;
}

bool cd_snow_tree_preference_at(const cd_snow_tree *t, cd_hash32 *id, u64 height)
{
    u32 n = t->tail;
    while (n != t->last && t->places[n].height > height) {
        n = t->places[n].parent;
    }
    if (n == t->last || t->places[n].height != height) {
        return false;
    }
    *id = t->places[n].id;
    return true;
}

bool cd_snow_tree_find(const cd_snow_tree *t, void **user, const cd_hash32 *id)
{
    u32 n = find(t, id);
    if (n == NONE || n == t->last) {
        return false;
    }
    if (user != NULL) {
        *user = t->places[n].user;
    }
    return true;
}

bool cd_snow_tree_is_preferred(const cd_snow_tree *t, const cd_hash32 *id)
{
    u32 n = find(t, id);
    return n != NONE && t->places[n].is_preferred;
}

bool cd_snow_tree_parent(const cd_snow_tree *t, cd_hash32 *parent, const cd_hash32 *id)
{
    u32 n = find(t, id);
    if (n == NONE || n == t->last) {
        return false;
    }
    *parent = t->places[t->places[n].parent].id;
    return true;
}

void cd_snow_tree_each(const cd_snow_tree *t, void (*fn)(void *ctx, void *user), void *ctx)
{
    for (u32 n = 0; n < t->used; n++) {
        if (t->places[n].is_live && n != t->last) {
            fn(ctx, t->places[n].user);
        }
    }
}

void cd_snow_tree_look(const cd_snow_tree *t, void (*fn)(void *ctx, const cd_snow_view *v), void *ctx)
{
    for (u32 n = 0; n < t->used; n++) {
        const place *p = &t->places[n];
        if (!p->is_live || n == t->last) {
            continue;
        }
        const cd_flake *above = &t->places[p->parent].flake;
        bool is_chosen = cd_hash32_eq(cd_flake_preference(above), &p->id);
        const cd_snow_view v = {.id = p->id,
                                .parent = t->places[p->parent].id,
                                .height = p->height,
                                .confidence = is_chosen ? cd_flake_confidence(above) : 0,
                                .is_preferred = p->is_preferred};
        fn(ctx, &v);
    }
}

u32 cd_snow_tree_cnt(const cd_snow_tree *t)
{
    return t->cnt;
}
