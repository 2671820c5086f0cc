#include "node/peers/record.h"

#include "base/mem/mem.h"
#include "base/table/hmap.h"
#include "sim/watch.h"

#include <stdio.h>

enum { PATH_MAX_LEN = 4096, NODES_MAX = 10000, FLUSH_US = 1000000 };

struct cd_record {
    FILE *file;
    cd_sim_trace trace;
    cd_sim_watch watch;
    const cd_clock *clock;
    u64 start_ns;
    u64 flushed_us;
    cd_hmap nodes; /* cd_node_id -> u32 */
};

static u64 now_us(const cd_record *r)
{
    return (cd_clock_mono_ns(r->clock) - r->start_ns) / 1000;
}

/* What cannot be written is the end of the record. */
static void to_file(void *ctx, cd_bytes text)
{
    cd_record *r = ctx;
    if (r->file != NULL && fwrite(text.p, 1, text.n, r->file) != text.n) {
        (void)fclose(r->file);
        r->file = NULL;
    }
}

/* A node's number, which it gets when it is seen first; beyond NODES_MAX they share the last. */
static u32 number_of(cd_record *r, const cd_node_id *node)
{
    const u32 *at = cd_hmap_get(&r->nodes, node);
    u32 no = (u32)cd_min_u64(cd_hmap_cnt(&r->nodes), NODES_MAX - 1);
    if (at != NULL || cd_hmap_cnt(&r->nodes) >= NODES_MAX) {
        return at != NULL ? *at : no;
    }
    cd_buf name = {0};
    *(u32 *)cd_hmap_put(&r->nodes, NULL, node) = no;
    cd_node_id_put(&name, node);
    cd_sim_trace_put(&r->trace, 'n', now_us(r), "%u %s 0", no, cd_buf_cstr(&name));
    cd_buf_fini(&name);
    return no;
}

cd_err cd_record_open(cd_record **out, const char *dir, const char *chain, const cd_node_id *own, const cd_clock *clock,
                      cd_errinfo *why)
{
    char path[PATH_MAX_LEN];
    int n = snprintf(path, sizeof path, "%s/%s.trace", dir, chain);
    FILE *file = n < 0 || (usize)n >= sizeof path ? NULL : fopen(path, "w");
    if (file == NULL) {
        return cd_fail(why, CD_EIO, "the record %.150s/%.40s.trace cannot be written", dir, chain);
    }
    cd_record *r = cd_new(cd_record);
    r->file = file;
    r->trace = (cd_sim_trace){.write = to_file, .ctx = r, .max = CD_RECORD_MAX};
    r->watch = (cd_sim_watch){.trace = &r->trace, .tells_blocks = true};
    r->clock = clock;
    r->start_ns = cd_clock_mono_ns(clock);
    cd_hmap_init(&r->nodes, CD_HASH_KEYED, sizeof(cd_node_id), sizeof(u32));
    cd_sim_trace_begin(&r->trace);
    cd_sim_trace_put(&r->trace, 'u', 0, "%u", number_of(r, own));
    *out = r;
    return CD_OK;
}

void cd_record_close(cd_record *r)
{
    if (r == NULL) {
        return;
    }
    if (r->file != NULL) {
        (void)fclose(r->file);
    }
    cd_sim_trace_end(&r->trace);
    cd_hmap_fini(&r->nodes);
    cd_free(r);
}

void cd_record_peer(cd_record *r, const cd_node_id *node, bool is_there)
{
    if (r != NULL) {
        cd_sim_trace_put(&r->trace, is_there ? 'u' : 'd', now_us(r), "%u", number_of(r, node));
    }
}

void cd_record_query(cd_record *r, const cd_node_id *to, u32 cnt, u32 request, const cd_hash32 *id, bool is_shown)
{
    cd_buf list = {0};
    if (r == NULL) {
        return;
    }
    for (u32 i = 0; i < cnt; i++) {
        cd_buf_fmt(&list, i == 0 ? "%u" : ",%u", number_of(r, &to[i]));
    }
    cd_sim_trace_put(&r->trace, is_shown ? 'Q' : 'q', now_us(r), "0 %u %s %s", request, cd_sim_trace_id(id).s,
                     cd_buf_cstr(&list));
    cd_buf_fini(&list);
}

void cd_record_vote(cd_record *r, const cd_node_id *from, u32 request, const cd_snow_chits *chits)
{
    if (r != NULL) {
        u32 no = number_of(r, from);
        cd_sim_trace_put(&r->trace, 'v', now_us(r), "0 %u %u %s %llu", request, no,
                         cd_sim_trace_id(&chits->preferred).s, (unsigned long long)chits->accepted_height);
    }
}

void cd_record_silence(cd_record *r, const cd_node_id *from, u32 request)
{
    if (r != NULL) {
        u32 no = number_of(r, from);
        cd_sim_trace_put(&r->trace, 'f', now_us(r), "0 %u %u", request, no);
    }
}

void cd_record_message(cd_record *r, const cd_node_id *to, u32 cnt, const char *op, usize bytes)
{
    for (u32 i = 0; r != NULL && i < cnt; i++) {
        u32 no = number_of(r, &to[i]);
        cd_sim_trace_put(&r->trace, 'm', now_us(r), "0 %u %s %zu 0", no, op, bytes);
    }
}

void cd_record_look(cd_record *r, const cd_engine *e)
{
    if (r == NULL) {
        return;
    }
    u64 now = now_us(r);
    cd_sim_watch_look(&r->watch, e, now);
    if (r->file != NULL && now - r->flushed_us > FLUSH_US) {
        r->flushed_us = now;
        (void)fflush(r->file);
    }
}
