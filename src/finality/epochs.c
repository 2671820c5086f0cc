#include "finality/epochs.h"

#include "base/mem/mem.h"
#include "base/rd.h"

enum { ENTRY_BYTES = CD_FIN_NODE_BYTES + 8 + 96 };

static void span_fini(cd_fin_span *s)
{
    cd_free(s->validators);
    *s = (cd_fin_span){0};
}

void cd_fin_epochs_fini(cd_fin_epochs *e)
{
    for (u32 i = 0; i < e->cnt; i++) {
        span_fini(&e->rows[i]);
    }
    *e = (cd_fin_epochs){0};
}

static bool is_signer(const cd_vm_validator *v)
{
    return v->has_key && v->weight != 0;
}

/* The signers among them, in out, cnt places. */
static cd_err take_signers(cd_fin_span *out, const cd_vm_validator *validators, usize cnt)
{
    u32 n = 0;
    for (usize i = 0; i < cnt; i++) {
        const cd_vm_validator *v = &validators[i];
        if (i != 0 && memcmp(validators[i - 1].node_id.b, v->node_id.b, CD_FIN_NODE_BYTES) >= 0) {
            return CD_EINVAL;
        }
        if (!is_signer(v)) {
            continue;
        }
        if (n == CD_FIN_VALIDATORS_MAX || !cd_add_u64(&out->set.total, out->set.total, v->weight)) {
            return CD_ELIMIT;
        }
        cd_fin_validator *to = &out->validators[n++];
        *to = (cd_fin_validator){.node = v->node_id, .weight = v->weight};
        CD_TRY(cd_bls_pk_dec(&to->bls, cd_bytes_of(v->key, sizeof v->key)));
    }
    out->set.cnt = n;
    return CD_OK;
}

static bool is_same(const cd_fin_set *a, const cd_fin_set *b)
{
    bool same = a->cnt == b->cnt;
    for (u32 i = 0; same && i < a->cnt; i++) {
        const cd_fin_validator *v = &a->validators[i];
        const cd_fin_validator *w = &b->validators[i];
        same = v->weight == w->weight && memcmp(&v->node, &w->node, sizeof v->node) == 0 &&
               memcmp(&v->bls, &w->bls, sizeof v->bls) == 0;
    }
    return same;
}

static void append(cd_fin_epochs *e, const cd_fin_span *s)
{
    if (e->cnt == CD_FIN_EPOCHS_KEPT) {
        span_fini(&e->rows[0]);
        memmove(&e->rows[0], &e->rows[1], sizeof e->rows[0] * --e->cnt);
    }
    if (e->cnt != 0) {
        e->rows[e->cnt - 1].set.until = s->set.from;
    }
    e->rows[e->cnt++] = *s;
}

bool cd_fin_epochs_wants(const cd_fin_epochs *e, u64 time_s)
{
    const cd_fin_span *last = e->cnt == 0 ? NULL : &e->rows[e->cnt - 1];
    return last == NULL || (time_s >= last->begun_s && time_s - last->begun_s >= CD_FIN_EPOCH_S);
}

cd_err cd_fin_epochs_block(cd_fin_epochs *e, bool *is_new, u64 height, u64 time_s, const cd_vm_validator *validators,
                           usize cnt)
{
    *is_new = false;
    if ((e->seen != 0 || e->cnt != 0) && height != e->seen) {
        return CD_EINVAL;
    }
    if (cnt != 0 && cd_fin_epochs_wants(e, time_s)) {
        const cd_fin_span *last = e->cnt == 0 ? NULL : &e->rows[e->cnt - 1];
        cd_fin_span s = {
            .number = last == NULL ? 0 : last->number + 1,
            .begun_s = time_s,
            .set = {.from = height, .until = UINT64_MAX},
            .validators = cd_alloc(sizeof *s.validators * cd_min_u64(cnt, CD_FIN_VALIDATORS_MAX)),
        };
        s.set.validators = s.validators;
        cd_err err = take_signers(&s, validators, cnt);
        *is_new = err == CD_OK && s.set.cnt != 0 && (last == NULL || !is_same(&last->set, &s.set));
        if (*is_new) {
            append(e, &s);
        } else {
            span_fini(&s);
        }
        CD_TRY(err);
    }
    e->seen = height + 1;
    return CD_OK;
}

cd_fin_span *cd_fin_epochs_of(cd_fin_epochs *e, u64 height)
{
    cd_fin_span *found = NULL;
    for (u32 i = 0; i < e->cnt; i++) {
        found = e->rows[i].set.from <= height ? &e->rows[i] : found;
    }
    return found;
}

cd_fin_span *cd_fin_epochs_numbered(cd_fin_epochs *e, u64 number)
{
    for (u32 i = 0; i < e->cnt; i++) {
        if (e->rows[i].number == number) {
            return &e->rows[i];
        }
    }
    return NULL;
}

u32 cd_fin_set_find(const cd_fin_set *set, const cd_node_id *node)
{
    u32 lo = 0;
    u32 hi = set->cnt;
    while (lo < hi) {
        u32 mid = lo + (hi - lo) / 2;
        int c = memcmp(set->validators[mid].node.b, node->b, CD_FIN_NODE_BYTES);
        if (c == 0) {
            return mid;
        }
        lo = c < 0 ? mid + 1 : lo;
        hi = c < 0 ? hi : mid;
    }
    return set->cnt;
}

/* --- storage: u64 seen, u8 count, then each: number, time, height, u32 count, (node, weight, key) --- */

void cd_fin_epochs_put(cd_buf *out, const cd_fin_epochs *e)
{
    cd_put_be64(cd_buf_extend(out, 8), e->seen);
    cd_buf_u8(out, (u8)e->cnt);
    for (u32 i = 0; i < e->cnt; i++) {
        const cd_fin_span *s = &e->rows[i];
        u8 *p = cd_buf_extend(out, 28);
        cd_put_be64(p, s->number);
        cd_put_be64(p + 8, s->begun_s);
        cd_put_be64(p + 16, s->set.from);
        cd_put_be32(p + 24, s->set.cnt);
        for (u32 k = 0; k < s->set.cnt; k++) {
            p = cd_buf_extend(out, ENTRY_BYTES);
            memcpy(p, s->validators[k].node.b, CD_FIN_NODE_BYTES);
            cd_put_be64(p + CD_FIN_NODE_BYTES, s->validators[k].weight);
            cd_bls_pk_enc_raw(p + CD_FIN_NODE_BYTES + 8, &s->validators[k].bls);
        }
    }
}

static cd_err read_span(cd_fin_epochs *out, cd_rd *r)
{
    cd_fin_span s = {.number = cd_rd_be64(r)};
    s.begun_s = cd_rd_be64(r);
    s.set.from = cd_rd_be64(r);
    s.set.until = UINT64_MAX;
    s.set.cnt = cd_rd_be32(r);
    cd_err e = r->err;
    if (e == CD_OK && (s.set.cnt == 0 || s.set.cnt > CD_FIN_VALIDATORS_MAX || out->cnt == CD_FIN_EPOCHS_KEPT ||
                       cd_rd_left(r) / ENTRY_BYTES < s.set.cnt)) {
        e = CD_EFORMAT;
    }
    if (e != CD_OK) {
        return e;
    }
    s.validators = cd_alloc(sizeof *s.validators * s.set.cnt);
    s.set.validators = s.validators;
    for (u32 k = 0; e == CD_OK && k < s.set.cnt; k++) {
        cd_fin_validator *v = &s.validators[k];
        *v = (cd_fin_validator){0};
        cd_rd_copy(r, v->node.b, CD_FIN_NODE_BYTES);
        v->weight = cd_rd_be64(r);
        e = cd_bls_pk_dec(&v->bls, cd_rd_take(r, 96));
        e = e == CD_OK && !cd_add_u64(&s.set.total, s.set.total, v->weight) ? CD_EFORMAT : e;
    }
    bool is_next = out->cnt == 0 || out->rows[out->cnt - 1].set.from < s.set.from;
    e = e == CD_OK && !(is_next && cd_fin_set_is_good(&s.set)) ? CD_EFORMAT : e;
    if (e == CD_OK) {
        append(out, &s);
    } else {
        span_fini(&s);
    }
    return e;
}

cd_err cd_fin_epochs_read(cd_fin_epochs *out, cd_bytes bytes)
{
    cd_rd r = cd_rd_init(bytes);
    *out = (cd_fin_epochs){.seen = cd_rd_be64(&r)};
    u32 cnt = cd_rd_u8(&r);
    cd_err e = r.err;
    for (u32 i = 0; e == CD_OK && i < cnt; i++) {
        e = read_span(out, &r);
    }
    e = e == CD_OK ? cd_rd_end(&r) : e;
    if (e != CD_OK) {
        cd_fin_epochs_fini(out);
    }
    return e;
}
