#include "finality/epochs.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "crypto/hash/sha2.h"

/* In the store: 'e' ‖ number: height and start of an epoch. 'n': height of the block that comes next. 'm' ‖ node: its
 * ML-DSA key. */
enum { NOTE_EVERY = 1024, EPOCH_BYTES = 16, KEYS_MAX = 2 * CD_FIN_VALIDATORS_MAX };

/* An epoch; its set is made when it is asked for. */
typedef struct epoch {
    u64 number;
    u64 from;
    u64 start_s;
    bool has_set;
    cd_fin_set set;
    cd_arena mem;
} epoch;

struct cd_fin_epochs {
    cd_kv *store;
    cd_kv *part;
    const cd_vm_validators *validators;
    u64 next;
    epoch v[CD_FIN_EPOCHS_KEPT]; /* rising, cnt of them */
    usize cnt;
    cd_hash32 digest; /* of the last epoch's set */
    bool has_digest;
    cd_hmap keys; /* node ──► its ML-DSA key */
};

static const cd_hash32 primary; /* the primary network's ID is zero */

/* --- the store --- */

static cd_err commit(cd_fin_epochs *e, cd_kv_batch *b, cd_errinfo *why)
{
    cd_kv_batch_widen(b);
    cd_err err = cd_kv_commit(e->store, b, CD_KV_NOSYNC, why);
    cd_kv_batch_fini(b);
    return err;
}

static void put_next(cd_kv_batch *b, u64 next)
{
    u8 value[8];
    cd_put_be64(value, next);
    cd_kv_batch_put(b, cd_bytes_str("n"), cd_bytes_of(value, sizeof value));
}

static void put_epoch(cd_kv_batch *b, const epoch *x)
{
    u8 key[9] = {'e'};
    u8 value[EPOCH_BYTES];
    cd_put_be64(key + 1, x->number);
    cd_put_be64(value, x->from);
    cd_put_be64(value + 8, x->start_s);
    cd_kv_batch_put(b, cd_bytes_of(key, sizeof key), cd_bytes_of(value, sizeof value));
}

static void drop_set(epoch *x)
{
    cd_arena_fini(&x->mem);
    x->mem = (cd_arena){0};
    x->has_set = false;
}

/* Puts an epoch behind the others; the oldest goes. */
static epoch *append(cd_fin_epochs *e, u64 number, u64 from, u64 start_s)
{
    if (e->cnt == CD_FIN_EPOCHS_KEPT) {
        drop_set(&e->v[0]);
        memmove(&e->v[0], &e->v[1], (CD_FIN_EPOCHS_KEPT - 1) * sizeof e->v[0]);
        e->cnt--;
    }
    epoch *x = &e->v[e->cnt++];
    *x = (epoch){.number = number, .from = from, .start_s = start_s};
    return x;
}

static cd_err load_epochs(cd_fin_epochs *e)
{
    cd_kv_iter *it = NULL;
    CD_TRY(cd_kv_iter_new(&it, e->part, &(cd_kv_range){.prefix = cd_bytes_str("e")}));
    cd_err err = CD_OK;
    while (err == CD_OK && cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        cd_bytes value = cd_kv_iter_value(it);
        if (key.n != 9 || value.n != EPOCH_BYTES) {
            err = CD_ECORRUPT;
        } else {
            (void)append(e, cd_be64(key.p + 1), cd_be64(value.p), cd_be64(value.p + 8));
        }
    }
    err = err == CD_OK ? cd_kv_iter_err(it) : err;
    cd_kv_iter_free(it);
    return err;
}

static cd_err load_keys(cd_fin_epochs *e)
{
    cd_kv_iter *it = NULL;
    CD_TRY(cd_kv_iter_new(&it, e->part, &(cd_kv_range){.prefix = cd_bytes_str("m")}));
    cd_err err = CD_OK;
    while (err == CD_OK && cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        cd_bytes value = cd_kv_iter_value(it);
        if (key.n != 1 + sizeof(cd_node_id) || value.n != CD_MLDSA_PK) {
            err = CD_ECORRUPT;
        } else {
            cd_node_id node;
            memcpy(node.b, key.p + 1, sizeof node.b);
            memcpy(cd_hmap_put(&e->keys, NULL, &node), value.p, CD_MLDSA_PK);
        }
    }
    err = err == CD_OK ? cd_kv_iter_err(it) : err;
    cd_kv_iter_free(it);
    return err;
}

static cd_err load(cd_fin_epochs *e)
{
    cd_buf value = {0};
    cd_err err = cd_kv_get(e->part, &value, cd_bytes_str("n"));
    if (err == CD_OK) {
        e->next = value.n == 8 ? cd_be64(value.p) : 0;
        err = value.n == 8 ? CD_OK : CD_ECORRUPT;
    }
    cd_buf_fini(&value);
    err = err == CD_ENOENT ? CD_OK : err;
    err = err == CD_OK ? load_epochs(e) : err;
    return err == CD_OK ? load_keys(e) : err;
}

cd_err cd_fin_epochs_open(cd_fin_epochs **out, cd_kv *store, cd_bytes prefix, const cd_vm_validators *validators,
                          cd_errinfo *why)
{
    cd_fin_epochs *e = cd_new(cd_fin_epochs);
    *e = (cd_fin_epochs){.store = store, .part = cd_kv_prefix_open(store, prefix), .validators = validators};
    cd_hmap_init(&e->keys, CD_HASH_KEYED, sizeof(cd_node_id), CD_MLDSA_PK);
    cd_err err = load(e);
    if (err != CD_OK) {
        cd_fin_epochs_free(e);
        return cd_fail(why, err, "epochs of finality cannot be read: %s", cd_err_str(err));
    }
    *out = e;
    return CD_OK;
}

void cd_fin_epochs_free(cd_fin_epochs *e)
{
    if (e == NULL) {
        return;
    }
    for (usize i = 0; i < e->cnt; i++) {
        drop_set(&e->v[i]);
    }
    cd_hmap_fini(&e->keys);
    cd_kv_close(e->part);
    cd_free(e);
}

/* --- epochs by blocks --- */

u64 cd_fin_epochs_next(const cd_fin_epochs *e)
{
    return e->next;
}

/* What two sets are compared by: node IDs, weights and keys of those who have one. */
static cd_err digest_at(cd_fin_epochs *e, cd_hash32 *out, u64 height)
{
    const cd_vm_validator *v;
    usize cnt;
    cd_arena a = {0};
    cd_sha256_ctx hash;
    cd_err err = e->validators->at(e->validators, &v, &cnt, &a, &primary, height);
    cd_sha256_init(&hash);
    for (usize i = 0; err == CD_OK && i < cnt; i++) {
        u8 weight[8];
        if (v[i].has_key) {
            cd_put_be64(weight, v[i].weight);
            cd_sha256_update(&hash, cd_bytes_of(v[i].node_id.b, sizeof v[i].node_id.b));
            cd_sha256_update(&hash, cd_bytes_of(weight, sizeof weight));
            cd_sha256_update(&hash, cd_bytes_of(v[i].key, sizeof v[i].key));
        }
    }
    cd_sha256_final(&hash, out);
    cd_arena_fini(&a);
    return err;
}

static cd_err begin(cd_fin_epochs *e, u64 number, u64 height, u64 time_s, const cd_hash32 *digest, cd_errinfo *why)
{
    cd_kv_batch b = {0};
    cd_kv_batch_for(&b, e->part);
    put_epoch(&b, append(e, number, height, time_s));
    put_next(&b, height + 1);
    e->digest = *digest;
    e->has_digest = true;
    return commit(e, &b, why);
}

static cd_err note(cd_fin_epochs *e, cd_errinfo *why)
{
    cd_kv_batch b = {0};
    cd_kv_batch_for(&b, e->part);
    put_next(&b, e->next);
    return commit(e, &b, why);
}

/* Looks whether an epoch begins with a block that may begin one. */
static cd_err look(cd_fin_epochs *e, u64 height, u64 time_s, cd_errinfo *why)
{
    cd_hash32 digest;
    const epoch *last = &e->v[e->cnt - 1];
    if (!e->has_digest) {
        CD_TRY(digest_at(e, &e->digest, last->from));
        e->has_digest = true;
    }
    CD_TRY(digest_at(e, &digest, height));
    return cd_hash32_eq(&digest, &e->digest) ? CD_OK : begin(e, last->number + 1, height, time_s, &digest, why);
}

cd_err cd_fin_epochs_block(cd_fin_epochs *e, u64 height, u64 time_s, cd_errinfo *why)
{
    cd_hash32 digest;
    cd_err err = CD_OK;
    if (height < e->next) {
        return CD_OK;
    }
    if (height > e->next) {
        return cd_fail(why, CD_ERANGE, "block %llu came where block %llu was next", (unsigned long long)height,
                       (unsigned long long)e->next);
    }
    if (e->cnt == 0) {
        err = digest_at(e, &digest, height);
        err = err == CD_OK ? begin(e, 0, height, time_s, &digest, why) : err;
    } else if (time_s >= e->v[e->cnt - 1].start_s + CD_FIN_EPOCH_S) {
        err = look(e, height, time_s, why);
    }
    if (err != CD_OK) {
        return err;
    }
    e->next = height + 1;
    return e->next % NOTE_EVERY == 0 ? note(e, why) : CD_OK;
}

/* --- sets --- */

static cd_err fill(cd_fin_epochs *e, epoch *x)
{
    const cd_vm_validator *v;
    usize cnt;
    CD_TRY(e->validators->at(e->validators, &v, &cnt, &x->mem, &primary, x->from));
    cd_fin_validator *list = cd_arena_array(&x->mem, cd_fin_validator, cnt);
    x->set = (cd_fin_set){.from = x->from, .validators = list};
    for (usize i = 0; i < cnt; i++) {
        cd_fin_validator *one = &list[x->set.cnt];
        if (!v[i].has_key || v[i].weight == 0 ||
            cd_bls_pk_dec(&one->bls, cd_bytes_of(v[i].key, sizeof v[i].key)) != CD_OK) {
            continue;
        }
        one->node = v[i].node_id;
        one->weight = v[i].weight;
        one->mldsa = cd_hmap_get(&e->keys, &one->node);
        x->set.cnt++;
        if (x->set.cnt > CD_FIN_VALIDATORS_MAX || !cd_add_u64(&x->set.total, x->set.total, one->weight)) {
            return CD_EINVAL;
        }
    }
    return x->set.cnt != 0 ? CD_OK : CD_EINVAL;
}

cd_err cd_fin_epochs_at(cd_fin_epochs *e, cd_fin_era *out, u64 height)
{
    epoch *x = NULL;
    if (e->cnt == 0) {
        return CD_ENOENT;
    }
    u64 until = UINT64_MAX;
    for (usize i = e->cnt; i-- > 0 && x == NULL;) {
        x = e->v[i].from <= height ? &e->v[i] : NULL;
        until = x == NULL ? e->v[i].from : until;
    }
    if (x == NULL) {
        return CD_EMISSING;
    }
    if (!x->has_set) {
        cd_err err = fill(e, x);
        if (err != CD_OK) {
            drop_set(x);
            return err;
        }
        x->has_set = true;
    }
    x->set.until = until;
    *out = (cd_fin_era){.number = x->number, .start_s = x->start_s, .set = &x->set};
    return CD_OK;
}

/* --- keys --- */

static bool is_lesser(const u8 *a, const u8 *b)
{
    cd_hash32 x;
    cd_hash32 y;
    cd_sha256(&x, cd_bytes_of(a, CD_MLDSA_PK));
    cd_sha256(&y, cd_bytes_of(b, CD_MLDSA_PK));
    return memcmp(x.b, y.b, sizeof x.b) < 0;
}

bool cd_fin_epochs_announce(cd_fin_epochs *e, const cd_node_id *node, const u8 key[CD_MLDSA_PK])
{
    const u8 *known = cd_hmap_get(&e->keys, node);
    u8 at[1 + sizeof(cd_node_id)] = {'m'};
    cd_kv_batch b = {0};
    if ((known != NULL && !is_lesser(key, known)) || (known == NULL && cd_hmap_cnt(&e->keys) == KEYS_MAX)) {
        return false;
    }
    memcpy(cd_hmap_put(&e->keys, NULL, node), key, CD_MLDSA_PK);
    for (usize i = 0; i < e->cnt; i++) {
        drop_set(&e->v[i]); /* the table of keys may have moved */
    }
    memcpy(at + 1, node->b, sizeof node->b);
    cd_kv_batch_for(&b, e->part);
    cd_kv_batch_put(&b, cd_bytes_of(at, sizeof at), cd_bytes_of(key, CD_MLDSA_PK));
    (void)!commit(e, &b, NULL);
    return true;
}

usize cd_fin_epochs_keys(const cd_fin_epochs *e)
{
    return cd_hmap_cnt(&e->keys);
}
