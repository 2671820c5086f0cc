#include "finality/cert/book.h"

#include "crypto/hash/sha2.h"
#include "finality/cert/epoch_priv.h"

enum { CHECKPOINT_MIN = CD__FIN_MAGIC + 58, CNT_AT = CD__FIN_MAGIC + 54, ALIGN = 16 };

/* --- memory --- */

static usize aligned(usize n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

usize cd_fin_book_bytes(u32 cap)
{
    return aligned(sizeof(cd_fin_book)) + 2 * aligned(cap * sizeof(cd_fin_validator)) +
           aligned((usize)cap * CD_MLDSA_PK) + aligned(cap * sizeof(u16));
}

cd_fin_book *cd_fin_book_init(void *memory, u32 cap)
{
    CD_ASSERT(cap <= CD_FIN_VALIDATORS_MAX && (uintptr_t)memory % ALIGN == 0);
    u8 *at = memory;
    cd_fin_book *b = memory;
    memset(b, 0, sizeof *b);
    at += aligned(sizeof *b);
    b->cap = cap;
    b->now = (void *)at;
    at += aligned(cap * sizeof *b->now);
    b->next = (void *)at;
    at += aligned(cap * sizeof *b->next);
    b->keys = (void *)at;
    at += aligned((usize)cap * CD_MLDSA_PK);
    b->free_slots = (void *)at;
    return b;
}

/* --- ML-DSA keys --- */

static bool is_kept(const cd_fin_book *b, const u8 *key)
{
    uintptr_t first = (uintptr_t)b->keys;
    return (uintptr_t)key >= first && (uintptr_t)key < first + (usize)b->cap * CD_MLDSA_PK;
}

/* Frees the slots that no validator of the next set uses, then copies into slots the keys that are borrowed. */
static void keep_keys(cd_fin_book *b, u32 cnt)
{
    u8 used[CD_FIN_VALIDATORS_MAX / 8] = {0};
    for (u32 i = 0; i < cnt; i++) {
        if (b->next[i].mldsa != NULL && is_kept(b, b->next[i].mldsa)) {
            usize slot = (usize)(b->next[i].mldsa - b->keys[0]) / CD_MLDSA_PK;
            used[slot / 8] |= (u8)(1 << slot % 8);
        }
    }
    b->free_cnt = 0;
    for (u32 slot = b->cap; slot-- > 0;) {
        if ((used[slot / 8] >> slot % 8 & 1) == 0) {
            b->free_slots[b->free_cnt++] = (u16)slot;
        }
    }
    for (u32 i = 0; i < cnt; i++) {
        const u8 *key = b->next[i].mldsa;
        if (key != NULL && !is_kept(b, key)) {
            u8 *slot = b->keys[b->free_slots[--b->free_cnt]];
            memcpy(slot, key, CD_MLDSA_PK);
            b->next[i].mldsa = slot;
        }
    }
}

/* Makes the set that was put together the one that is known. */
static void adopt(cd_fin_book *b, const cd_fin_epoch *next, const cd_hash32 *id)
{
    keep_keys(b, next->set.cnt);
    cd_fin_validator *was = b->now;
    b->now = b->next;
    b->next = was;
    b->epoch = *next;
    b->epoch.set.validators = b->now;
    b->id = *id;
}

/* Reads a threshold key with its length in front; an empty one leaves *bytes empty. False: it is not that of the ID. */
static bool take_group(cd_bytes *bytes, cd_rd *r, const cd_hash32 *id)
{
    cd_hash32 sum;
    u32 n = cd_rd_be32(r);
    if (n != 0 && n != CD__FIN_GROUP) {
        cd_rd_fail(r, CD_EFORMAT);
    }
    *bytes = cd_rd_take(r, n);
    if (bytes->n == 0) {
        return true;
    }
    cd_sha256(&sum, *bytes);
    return cd_hash32_eq(&sum, id);
}

/* --- checkpoints --- */

u32 cd_fin_checkpoint_cnt(cd_bytes checkpoint)
{
    if (checkpoint.n < CHECKPOINT_MIN || memcmp(checkpoint.p, CD__FIN_CHECKPOINT, CD__FIN_MAGIC) != 0) {
        return 0;
    }
    u32 cnt = cd_be32(checkpoint.p + CNT_AT);
    return cnt > CD_FIN_VALIDATORS_MAX ? CD_FIN_VALIDATORS_MAX : cnt;
}

/* Reads the validators, and behind them their ML-DSA keys, into next; a key's hash is checked. */
static void read_validators(cd_fin_book *b, cd_rd *r, cd_fin_set *set)
{
    static const u8 none[32];
    cd_rd keys = *r;
    (void)cd_rd_take(&keys, (usize)set->cnt * (CD_FIN_NODE_BYTES + 8 + CD_BLS_PK_LEN + 32));
    for (u32 i = 0; i < set->cnt && r->err == CD_OK && keys.err == CD_OK; i++) {
        cd_fin_validator *v = &b->next[i];
        cd_hash32 sum;
        cd_rd_copy(r, v->node.b, CD_FIN_NODE_BYTES);
        v->weight = cd_rd_be64(r);
        cd_bytes bls = cd_rd_take(r, CD_BLS_PK_LEN);
        cd_bytes hash = cd_rd_take(r, 32);
        v->mldsa = NULL;
        if (r->err != CD_OK || cd_bls_pk_dec(&v->bls, bls) != CD_OK ||
            !cd_add_u64(&set->total, set->total, v->weight)) {
            cd_rd_fail(r, CD_EFORMAT);
        } else if (memcmp(hash.p, none, sizeof none) != 0) {
            cd_bytes key = cd_rd_take(&keys, CD_MLDSA_PK);
            cd_sha256(&sum, key);
            v->mldsa = key.p;
            if (key.n == 0 || memcmp(sum.b, hash.p, 32) != 0) {
                cd_rd_fail(&keys, CD_EFORMAT);
            }
        }
    }
    if (keys.err != CD_OK) {
        cd_rd_fail(r, keys.err);
    }
    if (r->err == CD_OK) {
        *r = keys;
    }
}

static void read_chains(cd_fin_book *b, cd_rd *r)
{
    b->chain_cnt = cd_rd_u8(r);
    if (b->chain_cnt > CD_FIN_CHAINS_MAX) {
        cd_rd_fail(r, CD_EFORMAT);
    }
    for (u32 i = 0; i < b->chain_cnt && r->err == CD_OK; i++) {
        cd_fin_chain *c = &b->chains[i];
        u8 n = cd_rd_u8(r);
        if (n == 0 || n > CD_FIN_CHAIN_NAME_MAX) {
            cd_rd_fail(r, CD_EFORMAT);
            return;
        }
        memset(c->name, 0, sizeof c->name);
        cd_rd_copy(r, c->name, n);
        cd_rd_copy(r, c->id.b, 32);
        for (u32 k = 0; k < n; k++) {
            if (c->name[k] <= ' ' || c->name[k] > '~') { /* printed as it is */
                cd_rd_fail(r, CD_EFORMAT);
            }
        }
    }
}

static cd_fin_flaw read_checkpoint(cd_fin_book *b, cd_rd *r)
{
    cd_fin_epoch e = {.set = {.until = UINT64_MAX, .validators = b->next}};
    cd_bytes group;
    cd_hash32 id;
    if (cd_rd_be16(r) != 0) {
        return CD_FLAW_CHECKPOINT;
    }
    e.network = cd_rd_be32(r);
    e.number = cd_rd_be64(r);
    e.set.from = cd_rd_be64(r);
    cd_rd_copy(r, e.group_id.b, 32);
    e.set.cnt = cd_rd_be32(r);
    if (e.set.cnt > b->cap) {
        return CD_FLAW_ROOM;
    }
    read_validators(b, r, &e.set);
    bool is_group = take_group(&group, r, &e.group_id);
    read_chains(b, r);
    if (cd_rd_end(r) != CD_OK || !cd_fin_set_is_good(&e.set) || !is_group) {
        return CD_FLAW_CHECKPOINT_SET;
    }
    if (group.n != 0) {
        if (cd_rt_key_read(&b->group, group) != CD_OK) {
            return CD_FLAW_CHECKPOINT_SET;
        }
        e.set.group = &b->group;
    }
    cd_fin_epoch_id(&id, &e);
    adopt(b, &e, &id);
    return CD_FLAW_NONE;
}

cd_fin_flaw cd_fin_book_open(cd_fin_book *b, cd_bytes checkpoint)
{
    b->epoch = (cd_fin_epoch){0};
    b->chain_cnt = 0;
    b->changes = 0;
    b->is_quantum_final = true;
    if (checkpoint.n < CHECKPOINT_MIN + 32 || memcmp(checkpoint.p, CD__FIN_CHECKPOINT, CD__FIN_MAGIC) != 0) {
        return CD_FLAW_CHECKPOINT;
    }
    cd_bytes body = cd_bytes_sub(checkpoint, 0, checkpoint.n - 32);
    cd_sha256(&b->sum, body);
    if (memcmp(b->sum.b, checkpoint.p + body.n, 32) != 0) {
        return CD_FLAW_CHECKPOINT_SUM;
    }
    cd_rd r = cd_rd_init(cd_bytes_sub(body, CD__FIN_MAGIC, body.n - CD__FIN_MAGIC));
    cd_fin_flaw flaw = read_checkpoint(b, &r);
    if (flaw != CD_FLAW_NONE) {
        b->epoch = (cd_fin_epoch){0};
        b->chain_cnt = 0;
    }
    return flaw;
}

/* --- changes --- */

/* Reads one validator of a change over what it was (NULL: a new one). */
static bool read_changed(cd_fin_validator *v, cd_rd *r, const cd_fin_validator *was, const u8 *node)
{
    *v = was != NULL ? *was : (cd_fin_validator){0};
    memcpy(v->node.b, node, CD_FIN_NODE_BYTES);
    v->weight = cd_rd_be64(r);
    u8 flags = cd_rd_u8(r);
    bool ok =
        flags <= 5 && (was != NULL || (flags & CD__FIN_HAS_BLS) != 0); /* HAS_MLDSA and NO_MLDSA exclude another */
    if (ok && (flags & CD__FIN_HAS_BLS) != 0) {
        ok = cd_bls_pk_dec(&v->bls, cd_rd_take(r, CD_BLS_PK_LEN)) == CD_OK;
    }
    if (ok && (flags & CD__FIN_HAS_MLDSA) != 0) {
        v->mldsa = cd_rd_take(r, CD_MLDSA_PK).p;
    }
    if ((flags & CD__FIN_NO_MLDSA) != 0) {
        v->mldsa = NULL;
    }
    return ok && r->err == CD_OK;
}

/* The two lists of a change while they are gone through beside the set: nodes that leave, and validators that are new
 * or other. Both stand in order. */
typedef struct merge {
    cd_bytes removed;
    cd_rd added;
    u32 added_left;
    const u8 *node; /* of the validator that added stands at, or NULL when none is left */
} merge;

static bool next_added(merge *m)
{
    const u8 *was = m->node;
    m->node = NULL;
    if (m->added_left != 0) {
        m->added_left--;
        m->node = cd_rd_take(&m->added, CD_FIN_NODE_BYTES).p;
    }
    bool is_in_order = was == NULL || m->node == NULL || memcmp(was, m->node, CD_FIN_NODE_BYTES) < 0;
    return m->added.err == CD_OK && is_in_order;
}

/* Takes the node from the list of those who leave when it is the next one there. */
static bool leaves(merge *m, const u8 *node)
{
    bool does = m->removed.n != 0 && memcmp(m->removed.p, node, CD_FIN_NODE_BYTES) == 0;
    if (does) {
        m->removed = cd_bytes_sub(m->removed, CD_FIN_NODE_BYTES, m->removed.n - CD_FIN_NODE_BYTES);
    }
    return does;
}

/* Puts the next set together; what is left of m afterwards is wrong. */
static cd_fin_flaw merge_sets(cd_fin_book *b, cd_fin_set *next, merge *m)
{
    const cd_fin_set *now = &b->epoch.set;
    bool ok = next_added(m);
    for (u32 i = 0; ok && (i < now->cnt || m->node != NULL);) {
        int c = m->node == NULL ? 1 : i == now->cnt ? -1 : memcmp(m->node, b->now[i].node.b, CD_FIN_NODE_BYTES);
        if (c > 0 && leaves(m, b->now[i].node.b)) {
            i++;
            continue;
        }
        if (next->cnt == b->cap) {
            return CD_FLAW_ROOM;
        }
        cd_fin_validator *v = &b->next[next->cnt++];
        if (c > 0) {
            *v = b->now[i++];
        } else {
            ok = read_changed(v, &m->added, c == 0 ? &b->now[i] : NULL, m->node) && next_added(m);
            i += c == 0;
        }
        ok = ok && cd_add_u64(&next->total, next->total, v->weight);
    }
    return ok && m->removed.n == 0 ? CD_FLAW_NONE : CD_FLAW_CHANGE_SET;
}

/* Reads a change, which is for the epoch that the book has, into next and an epoch; *group borrows. */
static cd_fin_flaw read_change(cd_fin_book *b, cd_fin_epoch *next, cd_bytes *group, cd_bytes bytes)
{
    cd_rd r = cd_rd_init(bytes);
    cd_rd_copy(&r, next->group_id.b, 32);
    u32 removed = cd_rd_be32(&r);
    if (removed > CD_FIN_VALIDATORS_MAX) {
        cd_rd_fail(&r, CD_EFORMAT);
    }
    merge m = {.removed = cd_rd_take(&r, (usize)removed * CD_FIN_NODE_BYTES)};
    m.added_left = cd_rd_be32(&r);
    m.added = r;
    if (r.err != CD_OK) {
        return CD_FLAW_CHANGES;
    }
    cd_fin_flaw flaw = merge_sets(b, &next->set, &m);
    if (flaw != CD_FLAW_NONE) {
        return flaw;
    }
    r = m.added;
    bool is_group = take_group(group, &r, &next->group_id);
    if (cd_rd_end(&r) != CD_OK) {
        return CD_FLAW_CHANGES;
    }
    if (!cd_fin_set_is_good(&next->set)) {
        return CD_FLAW_CHANGE_SET;
    }
    return is_group ? CD_FLAW_NONE : CD_FLAW_CHANGE_GROUP;
}

/* Makes the threshold key of a change the next epoch's: the change's own, or the one that was there when it is the
 * same. */
static bool set_group(cd_fin_book *b, cd_fin_epoch *next, cd_bytes group)
{
    if (group.n == 0) {
        next->set.group = cd_hash32_eq(&next->group_id, &b->epoch.group_id) ? b->epoch.set.group : NULL;
        return true;
    }
    /* one that is malformed though the set signed its hash leaves the book without a key */
    b->epoch.set.group = NULL;
    next->set.group = &b->group;
    return cd_rt_key_read(&b->group, group) == CD_OK;
}

/* Follows one change. */
static cd_fin_flaw follow(cd_fin_book *b, const cd_fin_change *c)
{
    cd_fin_epoch next = {.network = b->epoch.network,
                         .number = c->number,
                         .set = {.from = c->from, .until = UINT64_MAX, .validators = b->next}};
    cd_fin_cert cert;
    cd_hash32 id;
    cd_bytes group;
    if (c->from <= b->epoch.set.from) {
        return CD_FLAW_CHANGE_BASE;
    }
    cd_fin_flaw flaw = read_change(b, &next, &group, c->rest);
    if (flaw != CD_FLAW_NONE) {
        return flaw;
    }
    cd_fin_epoch_id(&id, &next);
    flaw = cd_fin_cert_parse(&cert, c->cert);
    if (flaw != CD_FLAW_NONE) {
        return flaw;
    }
    if (cert.type == CD_FIN_LATTICE || !cd_hash32_eq(&cert.msg.block, &id) || cert.msg.height != next.set.from) {
        return CD_FLAW_CHANGE_SET;
    }
    flaw = cd_fin_verify(&cert, &b->epoch.set, &cd_fin_epoch_chain, &b->room);
    if (flaw != CD_FLAW_NONE) {
        return flaw;
    }
    if (!set_group(b, &next, group)) {
        return CD_FLAW_CHANGE_GROUP;
    }
    adopt(b, &next, &id);
    b->changes++;
    b->is_quantum_final = b->is_quantum_final && cd_fin_is_final(cert.type);
    return CD_FLAW_NONE;
}

bool cd_fin_changes_open(cd_rd *list, cd_bytes changes)
{
    *list = cd_rd_init(changes);
    cd_bytes magic = cd_rd_take(list, CD__FIN_MAGIC);
    return magic.n != 0 && memcmp(magic.p, CD__FIN_CHANGES, CD__FIN_MAGIC) == 0;
}

bool cd_fin_change_next(cd_fin_change *out, cd_rd *list)
{
    if (cd_rd_left(list) == 0) {
        return false;
    }
    cd_rd r = cd_rd_init(cd_rd_take(list, cd_rd_be32(list)));
    out->cert = cd_rd_take(list, cd_rd_be32(list));
    out->base = cd_rd_be64(&r);
    out->number = cd_rd_be64(&r);
    out->from = cd_rd_be64(&r);
    out->rest = cd_rd_take(&r, cd_rd_left(&r));
    if (r.err != CD_OK) {
        cd_rd_fail(list, r.err);
    }
    return list->err == CD_OK;
}

cd_fin_flaw cd_fin_book_follow(cd_fin_book *b, cd_bytes changes, u64 height)
{
    cd_rd list;
    cd_fin_change c;
    if (b->epoch.set.cnt == 0) {
        return CD_FLAW_CHECKPOINT;
    }
    if (!cd_fin_changes_open(&list, changes)) {
        return CD_FLAW_CHANGES;
    }
    while (cd_fin_change_next(&c, &list) && c.from <= height) {
        if (c.number <= b->epoch.number) {
            continue;
        }
        cd_fin_flaw flaw = c.base == b->epoch.number ? follow(b, &c) : CD_FLAW_CHANGE_BASE;
        if (flaw != CD_FLAW_NONE) {
            return flaw;
        }
    }
    return list.err == CD_OK ? CD_FLAW_NONE : CD_FLAW_CHANGES;
}

/* --- certificates --- */

cd_fin_flaw cd_fin_book_verify(cd_fin_book *b, cd_fin_cert *out, cd_bytes bytes, const cd_hash32 *chain)
{
    if (b->epoch.set.cnt == 0) {
        return CD_FLAW_CHECKPOINT;
    }
    return cd_fin_verify_bytes(out, bytes, &b->epoch.set, chain, &b->room);
}

const cd_hash32 *cd_fin_book_chain(const cd_fin_book *b, cd_bytes name)
{
    for (u32 i = 0; i < b->chain_cnt; i++) {
        if (cd_bytes_eq(cd_bytes_str(b->chains[i].name), name)) {
            return &b->chains[i].id;
        }
    }
    return NULL;
}
