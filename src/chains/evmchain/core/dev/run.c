#include "chains/evmchain/core/dev/run.h"

#include "chains/evmchain/core/rules/fee_l1.h"

enum {
    RUN_PREFIX = 'e',
    MARK_PREFIX = 'k',
    KEY_SIZE = 9,
    TAG_SIZE = 4,
    NO_PREDICATES = 6, /* codec version and an empty map */
    EXTRA_SIZE = CD_FEE_WINDOW_SIZE + NO_PREDICATES,
};

static cd_bytes key_of(u8 key[KEY_SIZE], u8 prefix, u64 number)
{
    key[0] = prefix;
    cd_put_be64(key + 1, number);
    return cd_bytes_of(key, KEY_SIZE);
}

/* --- moving along --- */

void cd_run_start(cd_run_header *at, const cd_header *h, cd_header_layout layout)
{
    CD_ASSERT(h->extra.n == EXTRA_SIZE);
    at->h = *h;
    memcpy(at->extra, h->extra.p, EXTRA_SIZE);
    at->h.extra = cd_bytes_of(at->extra, EXTRA_SIZE);
    cd_header_hash(&at->hash, layout, &at->h);
}

void cd_run_step(cd_run_header *at, const cd_run *run, cd_header_layout layout)
{
    cd_header *h = &at->h;
    u64 time = h->time + run->interval;
    u8 window[EXTRA_SIZE] = {0};
    cd_u256 base_fee;
    cd_u256 cost;
    cd_err e = cd_fee_l1_window(window, h, time);
    e = e != CD_OK ? e : cd_fee_l1_base_fee(&base_fee, &run->fee, h, time);
    CD_ASSERT(e == CD_OK); /* the parent has a window */
    cd_fee_l1_block_gas_cost(&cost, &run->fee, h, time);
    h->parent_hash = at->hash;
    h->number++;
    h->time = time;
    h->base_fee = base_fee;
    h->block_gas_cost = cost;
    memcpy(at->extra, window, EXTRA_SIZE);
    cd_header_hash(&at->hash, layout, h);
}

/* --- writing --- */

static void enc_run(cd_buf *out, const cd_run *run)
{
    const cd_fee_config *f = &run->fee;
    usize list = cd_rlp_begin(out);
    cd_rlp_put_u64(out, run->first);
    cd_rlp_put_u64(out, run->last);
    cd_rlp_put_u64(out, run->interval);
    cd_rlp_put_u256(out, &f->gas_limit);
    cd_rlp_put_u64(out, f->target_block_rate);
    cd_rlp_put_u256(out, &f->min_base_fee);
    cd_rlp_put_u256(out, &f->target_gas);
    cd_rlp_put_u256(out, &f->base_fee_change_denominator);
    cd_rlp_put_u256(out, &f->min_block_gas_cost);
    cd_rlp_put_u256(out, &f->max_block_gas_cost);
    cd_rlp_put_u256(out, &f->block_gas_cost_step);
    cd_rlp_close(out, list);
}

static void put_run(cd_kv_batch *batch, const cd_run *run)
{
    u8 key[KEY_SIZE];
    cd_buf value = {0};
    enc_run(&value, run);
    cd_kv_batch_put(batch, key_of(key, RUN_PREFIX, run->last), cd_buf_bytes(&value));
    cd_buf_fini(&value);
}

/* A checkpoint in the making: its header, and the tags of the blocks from it on. */
typedef struct mark {
    u64 number;
    cd_buf header;
    cd_buf tags;
} mark;

static void put_mark(cd_kv_batch *batch, const mark *m)
{
    u8 key[KEY_SIZE];
    cd_buf value = {0};
    usize list = cd_rlp_begin(&value);
    cd_buf_put(&value, cd_buf_bytes(&m->header));
    cd_rlp_put_str(&value, cd_buf_bytes(&m->tags));
    cd_rlp_close(&value, list);
    cd_kv_batch_put(batch, key_of(key, MARK_PREFIX, m->number), cd_buf_bytes(&value));
    cd_buf_fini(&value);
}

void cd_run_put(cd_kv_batch *batch, cd_run_header *end, const cd_run *run, const cd_header *first,
                cd_header_layout layout, cd_run_seen *seen, void *ctx)
{
    mark m = {0};
    cd_run_start(end, first, layout);
    for (u64 n = run->first; n <= run->last; n++) {
        if (n != run->first) {
            cd_run_step(end, run, layout);
        }
        if ((n - run->first) % CD_RUN_MARK == 0) {
            if (n != run->first) {
                put_mark(batch, &m);
            }
            cd_buf_clear(&m.header);
            cd_buf_clear(&m.tags);
            m.number = n;
            cd_header_enc(&m.header, layout, &end->h);
        }
        cd_buf_put(&m.tags, cd_bytes_of(end->hash.b, TAG_SIZE));
        if (seen != NULL) {
            seen(ctx, end);
        }
    }
    put_mark(batch, &m);
    put_run(batch, run);
    cd_buf_fini(&m.header);
    cd_buf_fini(&m.tags);
}

/* --- reading --- */

static cd_err dec_run(cd_run *out, cd_bytes in)
{
    cd_run run;
    cd_fee_config *f = &run.fee;
    cd_rlp r = cd_rlp_init(in);
    cd_rlp list = cd_rlp_list(&r);
    run.first = cd_rlp_u64(&list);
    run.last = cd_rlp_u64(&list);
    run.interval = cd_rlp_u64(&list);
    f->gas_limit = cd_rlp_u256(&list);
    f->target_block_rate = cd_rlp_u64(&list);
    f->min_base_fee = cd_rlp_u256(&list);
    f->target_gas = cd_rlp_u256(&list);
    f->base_fee_change_denominator = cd_rlp_u256(&list);
    f->min_block_gas_cost = cd_rlp_u256(&list);
    f->max_block_gas_cost = cd_rlp_u256(&list);
    f->block_gas_cost_step = cd_rlp_u256(&list);
    cd_rlp_leave(&r, &list);
    if (cd_rlp_end(&r) != CD_OK || run.first > run.last) {
        return CD_ECORRUPT;
    }
    *out = run;
    return CD_OK;
}

cd_err cd_run_find(cd_kv *kv, cd_run *out, u64 number)
{
    static const u8 prefix = RUN_PREFIX;
    u8 key[KEY_SIZE];
    cd_kv_iter *it = NULL;
    cd_run run;
    CD_TRY(cd_kv_iter_new(&it, kv,
                          &(cd_kv_range){.prefix = cd_bytes_of(&prefix, 1), .start = key_of(key, RUN_PREFIX, number)}));
    bool found = cd_kv_iter_next(it);
    cd_err e = found ? dec_run(&run, cd_kv_iter_value(it)) : cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    CD_TRY(e);
    if (!found || run.first > number) {
        return CD_ENOENT;
    }
    *out = run;
    return CD_OK;
}

/* Reads a checkpoint; its header moves into *at. */
static cd_err dec_mark(cd_run_header *at, cd_bytes *tags, cd_bytes in, cd_header_layout layout)
{
    cd_header h;
    cd_rlp r = cd_rlp_init(in);
    cd_rlp list = cd_rlp_list(&r);
    if (cd_header_dec(&h, layout, &list, NULL) != CD_OK || h.extra.n != EXTRA_SIZE) {
        return CD_ECORRUPT;
    }
    *tags = cd_rlp_str(&list);
    cd_rlp_leave(&r, &list);
    if (cd_rlp_end(&r) != CD_OK || tags->n % TAG_SIZE != 0) {
        return CD_ECORRUPT;
    }
    cd_run_start(at, &h, layout);
    return CD_OK;
}

cd_err cd_run_at(cd_kv *kv, cd_run_header *out, const cd_run *run, cd_header_layout layout, u64 number,
                 cd_run_seen *seen, void *ctx)
{
    u8 key[KEY_SIZE];
    cd_buf value = {0};
    cd_bytes tags;
    u64 from = number - (number - run->first) % CD_RUN_MARK;
    cd_err e = cd_kv_get(kv, &value, key_of(key, MARK_PREFIX, from));
    if (e == CD_OK) {
        e = dec_mark(out, &tags, cd_buf_bytes(&value), layout);
    }
    cd_buf_fini(&value);
    if (e != CD_OK) {
        return e == CD_ENOENT ? CD_ECORRUPT : e;
    }
    for (;;) {
        if (seen != NULL) {
            seen(ctx, out);
        }
        if (out->h.number == number) {
            return CD_OK;
        }
        cd_run_step(out, run, layout);
    }
}

/* Looks for hash among the blocks of one checkpoint whose tags are like its. */
static cd_err find_in_mark(cd_kv *kv, u64 *number, cd_header_layout layout, const cd_hash32 *hash, u64 from,
                           cd_bytes tags)
{
    for (usize i = 0; i < tags.n; i += TAG_SIZE) {
        cd_run run;
        cd_run_header at;
        if (memcmp(tags.p + i, hash->b, TAG_SIZE) != 0) {
            continue;
        }
        cd_err e = cd_run_find(kv, &run, from + i / TAG_SIZE);
        if (e == CD_ENOENT) {
            continue; /* cut off since */
        }
        CD_TRY(e);
        CD_TRY(cd_run_at(kv, &at, &run, layout, from + i / TAG_SIZE, NULL, NULL));
        if (cd_hash32_eq(&at.hash, hash)) {
            *number = at.h.number;
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

cd_err cd_run_find_hash(cd_kv *kv, u64 *number, cd_header_layout layout, const cd_hash32 *hash)
{
    static const u8 prefix = MARK_PREFIX;
    cd_kv_iter *it = NULL;
    CD_TRY(cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_of(&prefix, 1)}));
    cd_err e = CD_ENOENT;
    while (e == CD_ENOENT && cd_kv_iter_next(it)) {
        cd_run_header at;
        cd_bytes tags;
        e = cd_kv_iter_key(it).n == KEY_SIZE ? dec_mark(&at, &tags, cd_kv_iter_value(it), layout) : CD_ECORRUPT;
        if (e == CD_OK) {
            e = find_in_mark(kv, number, layout, hash, at.h.number, tags);
        }
    }
    if (e == CD_ENOENT && cd_kv_iter_err(it) != CD_OK) {
        e = cd_kv_iter_err(it);
    }
    cd_kv_iter_free(it);
    return e;
}

/* --- cutting --- */

/* Appends the deletion of every key of a table from a number on, and gives the value of the first. */
static cd_err del_from(cd_kv_batch *batch, cd_kv *kv, u8 prefix, u64 from, cd_buf *first)
{
    u8 key[KEY_SIZE];
    cd_kv_iter *it = NULL;
    CD_TRY(
        cd_kv_iter_new(&it, kv, &(cd_kv_range){.prefix = cd_bytes_of(&prefix, 1), .start = key_of(key, prefix, from)}));
    for (bool is_first = true; cd_kv_iter_next(it); is_first = false) {
        if (is_first && first != NULL) {
            cd_buf_put(first, cd_kv_iter_value(it));
        }
        cd_kv_batch_del(batch, cd_kv_iter_key(it));
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

cd_err cd_run_cut(cd_kv_batch *batch, cd_kv *kv, u64 above)
{
    cd_buf first = {0};
    cd_run run;
    cd_err e = del_from(batch, kv, RUN_PREFIX, above + 1, &first);
    if (e == CD_OK) {
        e = del_from(batch, kv, MARK_PREFIX, above + 1, NULL);
    }
    if (e == CD_OK && first.n != 0) {
        e = dec_run(&run, cd_buf_bytes(&first));
        if (e == CD_OK && run.first <= above) {
            run.last = above;
            put_run(batch, &run);
        }
    }
    cd_buf_fini(&first);
    return e;
}
