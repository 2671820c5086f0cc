/* Walks a trie in key order, from any key, in both directions. */
#include "base/mem/mem.h"
#include "store/trie_priv.h"

/* The order of children: the value first (a shorter key comes first), then nibbles 0 to 15; backwards the reverse. */
enum { ORDER_END = 17 };

typedef struct step {
    cd__branch *b;
    u8 d;  /* depth of the children's nibble */
    u8 at; /* next place in the order */
} step;

struct cd_trie_iter {
    cd_trie *t;
    bool reverse;
    bool started;
    cd_err err;
    u8 start_n;
    u8 start[CD_TRIE_MAX_KEY];
    u32 depth;
    u8 path[CD_TRIE_MAX_KEY + 1];
    step stack[CD__MAX_NIBBLES + 1];
};

cd_trie_iter *cd_trie_iter_new(cd_trie *t, cd_bytes start, bool reverse)
{
    cd_trie_iter *it = cd_realloc(NULL, sizeof *it);
    memset(it, 0, offsetof(cd_trie_iter, stack));
    it->t = t;
    it->reverse = reverse;
    /* No key is longer than this: cutting start keeps the items beyond it, but would lose one that equals the cut. */
    CD_ASSERT(start.n <= CD_TRIE_MAX_KEY);
    it->start_n = (u8)start.n;
    if (start.n != 0) {
        memcpy(it->start, start.p, start.n);
    }
    return it;
}

void cd_trie_iter_free(cd_trie_iter *it)
{
    cd_free(it);
}

static unsigned nibble_at(const cd_trie_iter *it, unsigned order)
{
    unsigned o = it->reverse ? ORDER_END - 1 - order : order;
    return o == 0 ? CD__END : o - 1;
}

static unsigned order_of(const cd_trie_iter *it, unsigned nibble)
{
    unsigned o = nibble == CD__END ? 0 : nibble + 1;
    return it->reverse ? ORDER_END - 1 - o : o;
}

/* Enters the node in *slot at depth d. bounded: the path so far is that of start, so what lies before
 * start (in walking direction) is left out. Gives the item of a leaf; CD_ENOENT when there is none. */
static cd_err enter(cd_trie_iter *it, cd__ref *slot, usize d, bool bounded, cd_trie_item *out)
{
    usize start_n = 2 * (usize)it->start_n;
    while (*slot != 0) {
        if (cd__kind(*slot) == CD__HASH) {
            CD_TRY(cd__load(it->t, slot, it->path, d));
        }
        if (cd__kind(*slot) == CD__LEAF) {
            const cd__leaf *l = cd__leaf_of(*slot);
            int c = cd_bytes_cmp(cd__leaf_key(l), cd_bytes_of(it->start, it->start_n));
            if (bounded && (it->reverse ? c > 0 : c < 0)) {
                return CD_ENOENT;
            }
            *out = (cd_trie_item){.key = cd__leaf_key(l), .value = cd__leaf_value(l)};
            return CD_OK;
        }
        cd__branch *b = cd__branch_of(*slot);
        for (usize i = 0; i < b->skip_n; i++) {
            cd__path_set(it->path, d + i, b->skip->nib[i]);
            unsigned want = cd__nib(it->start, start_n, d + i);
            if (bounded && b->skip->nib[i] != want) {
                /* The whole subtree is on one side of start; the end of start comes before any nibble. */
                bool above = want == CD__END || b->skip->nib[i] > want;
                if (above == it->reverse) {
                    return CD_ENOENT;
                }
                bounded = false;
            }
        }
        d += b->skip_n;
        unsigned first = 0;
        if (bounded) {
            first = order_of(it, cd__nib(it->start, start_n, d));
        }
        step *s = &it->stack[it->depth++];
        *s = (step){.b = b, .d = (u8)d, .at = (u8)(first + 1)};
        unsigned n = nibble_at(it, first);
        if (n != CD__END) {
            cd__path_set(it->path, d, n);
        }
        slot = cd__kid(b, n);
        d++;
    }
    return CD_ENOENT;
}

static cd_err next(cd_trie_iter *it, cd_trie_item *out)
{
    if (!it->started) {
        it->started = true;
        cd_err err = enter(it, &it->t->root, 0, it->start_n != 0, out);
        if (err != CD_ENOENT) {
            return err;
        }
    }
    while (it->depth != 0) {
        step *s = &it->stack[it->depth - 1];
        if (s->at == ORDER_END) {
            it->depth--;
            continue;
        }
        unsigned n = nibble_at(it, s->at++);
        if (n != CD__END) {
            cd__path_set(it->path, s->d, n);
        }
        cd_err err = enter(it, cd__kid(s->b, n), s->d + 1u, false, out);
        if (err != CD_ENOENT) {
            return err;
        }
    }
    return CD_ENOENT;
}

cd_err cd_trie_iter_next(cd_trie_iter *it, cd_trie_item *out)
{
    if (it->err == CD_OK) {
        it->err = next(it, out);
    }
    return it->err;
}
