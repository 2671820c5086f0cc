/* chains/evmchain/core/view_priv.h - the executor's side of views: accepted blocks in memory, and publishing.
 *
 *   cd_chain_block ──accept──► cd__accepted (counted, frozen) ──► ring of the newest ──► every view published since
 *
 * Threading: accepted blocks are frozen and counted; a cd__views is written by the executor and read by any thread. */
#ifndef CD_CHAINS_EVMCHAIN_VIEW_PRIV_H
#define CD_CHAINS_EVMCHAIN_VIEW_PRIV_H

#include "base/thread/thread.h"
#include "chains/evmchain/core/accepted.h"
#include "chains/evmchain/core/view.h"
#include "chains/evmchain/core/world/known.h"

#include <stdatomic.h>

/* Accepted blocks kept decoded: so many at most, and bytes of RLP (decoded, a block takes several times that). */
enum { CD__VIEW_RECENT = 64, CD__VIEW_BYTES = 4 << 20 };

/* An accepted block and the arena that holds all of it. */
typedef struct cd__accepted {
    cd_accepted pub;
    cd_arena arena;
    atomic_uint refs;
} cd__accepted;

/* cd__accepted_new takes over arena, which holds what pub borrows; one reference is the caller's. */
cd__accepted *cd__accepted_new(const cd_accepted *pub, cd_arena *arena) __attribute__((returns_nonnull));
cd__accepted *cd__accepted_ref(cd__accepted *a) __attribute__((returns_nonnull));
void cd__accepted_unref(cd__accepted *a); /* NULL is allowed */

/* The newest accepted blocks by number modulo the size, and the view published last. */
typedef struct cd__views {
    cd__accepted *recent[CD__VIEW_RECENT]; /* the executor's */
    u64 first;                             /* [first, head] are in recent */
    u64 head;
    usize bytes; /* of RLP in recent */
    u64 epoch;
    u64 floor;
    cd_mutex lock; /* protects newest, live and published */
    cd_view *newest;
    usize live;      /* views not freed yet */
    u64 published;   /* views, ever */
    cd_known *known; /* of views by their numbers */
} cd__views;

struct cd_view {
    atomic_uint refs;
    cd__views *of;
    cd_kv *kv;    /* frozen */
    u64 number;   /* of the view: they are counted from 1 */
    cd_kv *quick; /* what of it is in memory; NULL: the store cannot tell */
    const cd_chain_rules *rules;
    cd_hash32 genesis;
    u64 epoch;
    u64 floor;
    u64 oldest_state;
    u64 first; /* [first, head] are in recent, by number modulo its size */
    u64 head;
    cd__accepted *recent[CD__VIEW_RECENT];
};

void cd__views_init(cd__views *vs);

/* cd__views_fini ends what the executor holds; every view that was handed out has been given back before. */
void cd__views_fini(cd__views *vs);

/* cd__views_cut takes the head back to a height that is in memory; false when it is not. */
bool cd__views_cut(cd__views *vs, u64 height);

/* cd__views_push takes over a as the new head, a child of the present one. _restart makes a the only block in
 * memory: after opening, and after a truncation. */
void cd__views_push(cd__views *vs, cd__accepted *a);
void cd__views_restart(cd__views *vs, cd__accepted *a);

/* cd__views_head gives the accepted block on top. */
const cd__accepted *cd__views_head(const cd__views *vs);

/* cd__views_publish makes what the store holds now the newest view. Errors: those of the store; then the last one
 * stays. */
cd_err cd__views_publish(cd__views *vs, cd_kv *kv, const cd_chain_rules *rules, const cd_hash32 *genesis) CD_CHECK;

/* cd__views_newest gives a reference to it; any thread. */
cd_view *cd__views_newest(cd__views *vs) __attribute__((returns_nonnull));

#endif
