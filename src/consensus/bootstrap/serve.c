#include "consensus/bootstrap/serve.h"

#include "vm/blocks.h"

void cd_serve_accepted_frontier(const cd_serve *s, const cd_node_id *to, u32 request)
{
    cd_hash32 id;
    u64 height;
    s->vm->ops->last_accepted(s->vm, &id, &height);
    s->net->accepted_frontier(s->net, to, request, &id);
}

static bool is_accepted(const cd_serve *s, const cd_hash32 *id, u64 last)
{
    cd_vm_block *b;
    cd_hash32 at;
    if (s->vm->ops->get(s->vm, &b, id) != CD_OK) {
        return false;
    }
    u64 height = b->height;
    s->vm->ops->release(s->vm, b);
    return height <= last && s->vm->ops->id_at_height(s->vm, &at, height) == CD_OK && cd_hash32_eq(&at, id);
}

void cd_serve_accepted(const cd_serve *s, const cd_node_id *to, u32 request, const cd_hash32 *ids, u32 cnt)
{
    cd_hash32 accepted[CD_SERVE_IDS_MAX];
    cd_hash32 last;
    u64 height;
    u32 n = 0;
    s->vm->ops->last_accepted(s->vm, &last, &height);
    for (u32 i = 0; i < cnt && i < CD_SERVE_IDS_MAX; i++) {
        if (is_accepted(s, &ids[i], height)) {
            accepted[n++] = ids[i];
        }
    }
    s->net->accepted(s->net, to, request, accepted, n);
}

void cd_serve_ancestors(const cd_serve *s, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    cd_buf blocks = {0};
    u64 until = s->clock == NULL ? 0 : cd_clock_mono_ns(s->clock) + CD_SERVE_GATHER_NS;
    cd_err e = s->vm->ops->ancestors != NULL
                   ? s->vm->ops->ancestors(s->vm, &blocks, id, CD_SERVE_BLOCKS_MAX, CD_SERVE_BYTES_MAX)
                   : cd_vm_ancestors(s->vm, &blocks, id, CD_SERVE_BLOCKS_MAX, CD_SERVE_BYTES_MAX, s->clock, until);
    if (e == CD_OK && blocks.n != 0) {
        s->net->ancestors(s->net, to, request, &blocks);
    }
    cd_buf_fini(&blocks);
}

void cd_serve_get(const cd_serve *s, const cd_node_id *to, u32 request, const cd_hash32 *id)
{
    cd_vm_block *b;
    if (s->vm->ops->get(s->vm, &b, id) == CD_OK) {
        s->net->put(s->net, to, request, b->bytes);
        s->vm->ops->release(s->vm, b);
    }
}

/* What is_enabled says is whether this node syncs itself; it serves others all the same. */
static const cd_vm_sync_ops *sync_of(const cd_serve *s)
{
    return s->vm->ops->sync;
}

void cd_serve_summary_frontier(const cd_serve *s, const cd_node_id *to, u32 request)
{
    const cd_vm_sync_ops *sync = sync_of(s);
    cd_vm_summary newest;
    cd_arena a = {0};
    cd_err e = sync == NULL ? CD_ENOENT : sync->last(s->vm, &newest, &a);
    if (e == CD_OK || e == CD_ENOENT) {
        s->net->state_summary_frontier(s->net, to, request, e == CD_OK ? newest.bytes : (cd_bytes){0});
    }
    cd_arena_fini(&a);
}

void cd_serve_summaries(const cd_serve *s, const cd_node_id *to, u32 request, const u64 *heights, u32 cnt)
{
    cd_hash32 ids[CD_SERVE_IDS_MAX];
    const cd_vm_sync_ops *sync = sync_of(s);
    u32 n = 0;
    for (u32 i = 0; sync != NULL && i < cnt && i < CD_SERVE_IDS_MAX; i++) {
        cd_vm_summary at;
        cd_arena a = {0};
        if (sync->at(s->vm, &at, &a, heights[i]) == CD_OK) {
            ids[n++] = at.id;
        }
        cd_arena_fini(&a);
    }
    s->net->accepted_state_summary(s->net, to, request, ids, n);
}
