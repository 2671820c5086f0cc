#include "chains/platform/state/records_priv.h"
#include "chains/platform/state/sets_priv.h"

/* A set of fewer validators is not worth more copies of it. */
enum { COPY_MIN = 64 };

/* --- seats --- */

usize cd__seat_enc(u8 out[CD__SEAT_MAX], const cd__seat *seat)
{
    cd_put_be64(out, seat->weight);
    if (!seat->has_key) {
        return 8;
    }
    memcpy(out + 8, seat->key, sizeof seat->key);
    return CD__SEAT_MAX;
}

cd_err cd__seat_dec(cd__seat *out, cd_bytes in)
{
    if (in.n != 0 && in.n != 8 && in.n != CD__SEAT_MAX) {
        return CD_ECORRUPT;
    }
    *out = (cd__seat){.weight = in.n == 0 ? 0 : cd_be64(in.p), .has_key = in.n == CD__SEAT_MAX};
    if (out->has_key) {
        memcpy(out->key, in.p + 8, sizeof out->key);
    }
    return CD_OK;
}

cd_err cd__seat_get(const cd_pstate *s, cd__seat *out, const cd_hash32 *net, const cd_node_id *node)
{
    cd__key k = cd__key_net_node('W', net, node);
    cd_buf v = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    if (e == CD_OK || e == CD_ENOENT) {
        e = cd__seat_dec(out, cd_buf_bytes(&v));
    }
    cd_buf_fini(&v);
    return e;
}

/* --- history --- */

/* How many changes a net has seen since its last copy. */
typedef struct past {
    u64 changes;
    u64 height; /* of the last change */
    u64 validators;
} past;

static cd_err past_get(const cd_pstate *s, past *out, const cd_hash32 *net)
{
    cd__key k = cd__key_id('Y', net);
    cd_buf v = {0};
    cd_err e = cd_kv_get(s->kv, &v, cd__key_bytes(&k));
    *out = (past){0};
    if (e == CD_OK) {
        cd_rd r = cd_rd_init(cd_buf_bytes(&v));
        *out = (past){.changes = cd_rd_be64(&r), .height = cd_rd_be64(&r), .validators = cd_rd_be64(&r)};
        e = cd_rd_end(&r) == CD_OK ? CD_OK : CD_ECORRUPT;
    }
    cd_buf_fini(&v);
    return e == CD_ENOENT ? CD_OK : e;
}

static cd_err past_put(const cd_pstate *s, const cd_hash32 *net, const past *p)
{
    u8 b[24];
    cd_put_be64(b, p->changes);
    cd_put_be64(b + 8, p->height);
    cd_put_be64(b + 16, p->validators);
    cd__key k = cd__key_id('Y', net);
    return cd_kv_put(s->kv, cd__key_bytes(&k), cd_bytes_of(b, sizeof b));
}

static cd__key at_height(char kind, const cd_hash32 *net, u64 height)
{
    cd__key k = cd__key_id(kind, net);
    cd__key_be64(&k, height);
    return k;
}

/* Copies the set as the block below left it: node ‖ u8 length ‖ seat for each. */
static cd_err copy_set(const cd_pstate *s, const cd_hash32 *net)
{
    cd__key from = cd__key_id('W', net);
    cd_kv_iter *it;
    CD_TRY(cd_kv_iter_new(&it, s->kv, &(cd_kv_range){.prefix = cd__key_bytes(&from)}));
    cd_buf v = {0};
    while (cd_kv_iter_next(it)) {
        cd_bytes key = cd_kv_iter_key(it);
        cd_bytes seat = cd_kv_iter_value(it);
        cd_buf_put(&v, cd_bytes_sub(key, key.n - 20, 20));
        cd_buf_u8(&v, (u8)seat.n);
        cd_buf_put(&v, seat);
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    if (e == CD_OK) {
        cd__key k = at_height('Z', net, s->height - 1);
        e = cd_kv_put(s->kv, cd__key_bytes(&k), cd_buf_bytes(&v));
    }
    cd_buf_fini(&v);
    return e;
}

/* Notes what (net, node) was before this block, once a block. Nobody asks for what was before genesis. */
static cd_err note(const cd_pstate *s, past *p, const cd_hash32 *net, const cd_node_id *node, const cd__seat *before)
{
    if (s->height == 0) {
        return CD_OK;
    }
    if (p->height != s->height && p->changes >= cd_max_u64(COPY_MIN, p->validators)) {
        CD_TRY(copy_set(s, net));
        p->changes = 0;
    }
    p->height = s->height;
    cd__key k = at_height('D', net, s->height);
    cd__key_put(&k, node->b, 20);
    bool is_noted;
    CD_TRY(cd_kv_has(s->kv, &is_noted, cd__key_bytes(&k)));
    if (is_noted) {
        return CD_OK;
    }
    p->changes++;
    u8 b[CD__SEAT_MAX];
    usize n = before->weight == 0 ? 0 : cd__seat_enc(b, before);
    return cd_kv_put(s->kv, cd__key_bytes(&k), cd_bytes_of(b, n));
}

static cd_err seat_set(const cd_pstate *s, const cd_hash32 *net, const cd_node_id *node, const cd__seat *before,
                       const cd__seat *after)
{
    past p;
    CD_TRY(past_get(s, &p, net));
    CD_TRY(note(s, &p, net, node, before));
    p.validators = p.validators - (before->weight != 0) + (after->weight != 0);
    CD_TRY(past_put(s, net, &p));
    cd__key k = cd__key_net_node('W', net, node);
    if (after->weight == 0) {
        return cd_kv_del(s->kv, cd__key_bytes(&k));
    }
    u8 b[CD__SEAT_MAX];
    return cd_kv_put(s->kv, cd__key_bytes(&k), cd_bytes_of(b, cd__seat_enc(b, after)));
}

cd_err cd__seat_add(const cd_pstate *s, const cd_hash32 *net, const cd_node_id *node, u64 weight, const u8 *key)
{
    cd__seat before;
    CD_TRY(cd__seat_get(s, &before, net, node));
    cd__seat after = before;
    if (!cd_add_u64(&after.weight, before.weight, weight)) {
        return CD_ERANGE;
    }
    if (key != NULL) {
        after.has_key = true;
        memcpy(after.key, key, sizeof after.key);
    }
    return seat_set(s, net, node, &before, &after);
}

cd_err cd__seat_sub(const cd_pstate *s, const cd_hash32 *net, const cd_node_id *node, u64 weight)
{
    cd__seat before;
    CD_TRY(cd__seat_get(s, &before, net, node));
    cd__seat after = before;
    if (!cd_sub_u64(&after.weight, before.weight, weight)) {
        return CD_ECORRUPT;
    }
    return seat_set(s, net, node, &before, &after);
}
