#include "node/chain/containers.h"

#include "base/mem/mem.h"

#include <stdatomic.h>

enum {
    TABLE = 'I',    /* first byte of a key in the node's store; the chain's id and one of the next three follow */
    BY_INDEX = 'c', /* followed by the index; the value is time, height, id, bytes */
    BY_ID = 'i',    /* followed by the container's id; the value is the index */
    HEAD_LEN = 48,  /* bytes of time, height and id in front of the container */
    PREFIX_LEN = 34,
    KEY_MAX = PREFIX_LEN + 32,
    BATCH_BYTES = 4 << 20,
    TELL_NS = 1000000000,
};

struct cd_containers {
    cd_kv *store;
    const cd_clock *clock;
    u8 prefix[PREFIX_LEN - 1];
    u64 last_height; /* time of the last container in ns; 0: there is none */
    u64 next;        /* with what was appended and has not landed yet */
    u64 next_height;
    _Atomic u64 cnt;
};

/* --- records --- */

static cd_bytes index_key(const cd_containers *c, u8 key[KEY_MAX], u64 index)
{
    memcpy(key, c->prefix, sizeof c->prefix);
    key[PREFIX_LEN - 1] = BY_INDEX;
    cd_put_be64(key + PREFIX_LEN, index);
    return cd_bytes_of(key, PREFIX_LEN + 8);
}

static cd_bytes id_key(const cd_containers *c, u8 key[KEY_MAX], const cd_hash32 *id)
{
    memcpy(key, c->prefix, sizeof c->prefix);
    key[PREFIX_LEN - 1] = BY_ID;
    memcpy(key + PREFIX_LEN, id->b, 32);
    return cd_bytes_of(key, PREFIX_LEN + 32);
}

static cd_err container_of(cd_container *out, cd_bytes record, u64 index)
{
    if (record.n < HEAD_LEN) {
        return CD_ECORRUPT;
    }
    *out = (cd_container){
        .index = index,
        .accepted_ns = cd_be64(record.p),
        .height = cd_be64(record.p + 8),
        .bytes = cd_bytes_sub(record, HEAD_LEN, record.n - HEAD_LEN),
    };
    memcpy(out->id.b, record.p + 16, 32);
    return CD_OK;
}

static cd_err get(const cd_containers *c, cd_container *out, cd_buf *buf, u64 index)
{
    u8 key[KEY_MAX];
    CD_TRY(cd_kv_get(c->store, buf, index_key(c, key, index)));
    return container_of(out, cd_buf_bytes(buf), index);
}

/* --- the object --- */

static cd_err find_end(cd_containers *c)
{
    u8 key[KEY_MAX];
    u64 end = 0;
    cd_container last = {0};
    cd_kv_iter *it;
    const cd_kv_range range = {.prefix = cd_bytes_of(index_key(c, key, 0).p, PREFIX_LEN), .reverse = true};
    CD_TRY(cd_kv_iter_new(&it, c->store, &range));
    cd_err e = CD_OK;
    if (cd_kv_iter_next(it)) {
        cd_bytes k = cd_kv_iter_key(it);
        e = k.n == PREFIX_LEN + 8 ? container_of(&last, cd_kv_iter_value(it), 0) : CD_ECORRUPT;
        end = e == CD_OK ? cd_be64(k.p + PREFIX_LEN) + 1 : 0;
    }
    e = e != CD_OK ? e : cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    c->last_height = last.height;
    atomic_store(&c->cnt, end);
    return e;
}

cd_err cd_containers_open(cd_containers **out, cd_kv *store, const cd_hash32 *chain, const cd_clock *clock)
{
    cd_containers *c = cd_new(cd_containers);
    c->store = store;
    c->clock = clock;
    c->prefix[0] = TABLE;
    memcpy(c->prefix + 1, chain->b, 32);
    cd_err e = find_end(c);
    if (e != CD_OK) {
        cd_free(c);
        return e;
    }
    *out = c;
    return CD_OK;
}

void cd_containers_free(cd_containers *c)
{
    cd_free(c);
}

/* --- writing --- */

/* After a rewind: removes the containers at height and above, newest first. */
static cd_err take_back(const cd_containers *c, cd_kv_batch *batch, u64 *cnt, u64 height)
{
    u8 key[KEY_MAX];
    cd_buf buf = {0};
    cd_err e = CD_OK;
    while (*cnt != 0) {
        cd_container last;
        e = get(c, &last, &buf, *cnt - 1);
        if (e != CD_OK || last.height < height) {
            break;
        }
        --*cnt;
        cd_kv_batch_del(batch, id_key(c, key, &last.id));
        cd_kv_batch_del(batch, index_key(c, key, *cnt));
    }
    cd_buf_fini(&buf);
    return e;
}

static void append(const cd_containers *c, cd_kv_batch *batch, u64 index, const cd_vm_block *b, u64 when_ns)
{
    u8 key[KEY_MAX];
    u8 be[8];
    u8 *v = cd_kv_batch_put2(batch, (cd_bytes){0}, index_key(c, key, index), HEAD_LEN + b->bytes.n);
    cd_put_be64(v, when_ns);
    cd_put_be64(v + 8, b->height);
    memcpy(v + 16, b->id.b, 32);
    memcpy(v + HEAD_LEN, b->bytes.p, b->bytes.n);
    cd_put_be64(be, index);
    cd_kv_batch_put(batch, id_key(c, key, &b->id), cd_bytes_of(be, sizeof be));
}

cd_err cd_containers_append(cd_containers *c, cd_kv_batch *batch, const cd_vm_block *b)
{
    u64 index = atomic_load(&c->cnt);
    u64 first = b->height - b->span + 1;
    if (first <= c->last_height) {
        CD_TRY(take_back(c, batch, &index, first));
    }
    append(c, batch, index, b, cd_clock_wall_ns(c->clock));
    c->next = index + 1;
    c->next_height = b->height;
    return CD_OK;
}

void cd_containers_landed(cd_containers *c)
{
    c->last_height = c->next_height;
    atomic_store(&c->cnt, c->next);
}

/* --- catching up --- */

static cd_err flush(cd_containers *c, cd_kv_batch *batch, cd_errinfo *why)
{
    cd_err e = cd_kv_commit(c->store, batch, CD_KV_NOSYNC, why);
    cd_kv_batch_clear(batch);
    if (e == CD_OK) {
        cd_containers_landed(c);
    }
    return e;
}

/* A chain that was synchronised by its state does not have its early blocks; those stay missing. */
static cd_err append_height(cd_containers *c, cd_kv_batch *batch, cd_vm *vm, u64 height)
{
    cd_hash32 id;
    cd_vm_block *b;
    cd_err e = vm->ops->id_at_height(vm, &id, height);
    e = e != CD_OK ? e : vm->ops->get(vm, &b, &id);
    if (e == CD_OK) {
        if (b->height == height) { /* heights inside of a run of empty blocks have no container */
            append(c, batch, c->next++, b, b->time * CD_NS_PER_SEC);
        }
        vm->ops->release(vm, b);
    }
    c->next_height = height;
    return e == CD_ENOENT ? CD_OK : e;
}

cd_err cd_containers_catch_up(cd_containers *c, cd_vm *vm, cd_logger *log, cd_errinfo *why)
{
    cd_hash32 id;
    u64 height;
    cd_kv_batch batch = {0};
    cd_err e = CD_OK;
    vm->ops->last_accepted(vm, &id, &height);
    u64 told_ns = cd_clock_mono_ns(c->clock);
    c->next = atomic_load(&c->cnt);
    if (c->last_height > height) {
        c->next_height = height;
        e = take_back(c, &batch, &c->next, height + 1);
        e = e != CD_OK ? e : flush(c, &batch, why);
    }
    for (u64 h = c->last_height + 1; h <= height && e == CD_OK; h++) {
        e = append_height(c, &batch, vm, h);
        if (e == CD_OK && (batch.rec.n > BATCH_BYTES || h == height)) {
            e = flush(c, &batch, why);
        }
        if (cd_clock_mono_ns(c->clock) - told_ns > TELL_NS) {
            told_ns = cd_clock_mono_ns(c->clock);
            cd_log_info(log, "indexing blocks that were accepted before", CD_F("height", h), CD_F("of", height));
        }
    }
    cd_kv_batch_fini(&batch);
    return e;
}

/* --- reading --- */

u64 cd_containers_cnt(const cd_containers *c)
{
    return atomic_load(&c->cnt);
}

cd_err cd_containers_get(const cd_containers *c, cd_container *out, cd_buf *buf, u64 index)
{
    return index < cd_containers_cnt(c) ? get(c, out, buf, index) : CD_ENOENT;
}

cd_err cd_containers_index_of(const cd_containers *c, u64 *index, const cd_hash32 *id)
{
    u8 key[KEY_MAX];
    cd_buf v = {0};
    cd_err e = cd_kv_get(c->store, &v, id_key(c, key, id));
    if (e == CD_OK) {
        e = v.n == 8 ? CD_OK : CD_ECORRUPT;
        *index = v.n == 8 ? cd_be64(v.p) : 0;
    }
    cd_buf_fini(&v);
    return e == CD_OK && *index >= cd_containers_cnt(c) ? CD_ENOENT : e;
}
