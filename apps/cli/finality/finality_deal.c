#include "finality/finality_deal.h"

#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "base/os/rng.h"
#include "codec/api_json.h"
#include "finality/keys.h"

#include <stdlib.h>

enum { DIR_MODE = 0700, FILE_MODE = 0600 };

static bool is_of_id(u8 c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

static int by_id(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cd_node_id));
}

static cd_err read_nodes(cd_fin_group *g, cd_bytes text, cd_errinfo *why)
{
    usize i = 0;
    while (i < text.n) {
        usize from = i;
        while (i < text.n && is_of_id(text.p[i])) {
            i++;
        }
        if (i != from) {
            if (g->cnt == CD_RT_PARTIES_MAX) {
                return cd_fail(why, CD_EINVAL, "a threshold key has %d parties at most", CD_RT_PARTIES_MAX);
            }
            CD_TRY(cd_node_id_parse(&g->nodes[g->cnt++], cd_bytes_sub(text, from, i - from), why));
        }
        i += i < text.n;
    }
    if (g->cnt < 3) {
        return cd_fail(why, CD_EINVAL, "a threshold key is for 3 validators or more, these are %u", g->cnt);
    }
    qsort(g->nodes, g->cnt, sizeof g->nodes[0], by_id);
    for (u32 k = 1; k < g->cnt; k++) {
        if (by_id(&g->nodes[k - 1], &g->nodes[k]) == 0) {
            return cd_fail(why, CD_EINVAL, "a node is named twice");
        }
    }
    return CD_OK;
}

/* The file must not exist: whoever deals twice would leave parties with shares of two keys. */
static cd_err write_new(const char *path, cd_bytes data, cd_errinfo *why)
{
    cd_fs_out out;
    CD_TRY(cd_fs_out_open(&out, cd_fs_real(), path, FILE_MODE, why));
    cd_err e = cd_fs_out_put(&out, data, why);
    e = e == CD_OK ? cd_fs_out_close(&out, why) : e;
    if (e != CD_OK) {
        cd_fs_out_drop(&out);
    }
    return e;
}

static const char *share_path(cd_arena *mem, const char *dir, const cd_node_id *node)
{
    cd_buf id = {0};
    cd_node_id_put(&id, node);
    const char *path = cd_arena_fmt(mem, "%s/%s.share", dir, cd_buf_cstr(&id));
    cd_buf_fini(&id);
    return path;
}

/* The group's file comes first: it is the one that says that somebody dealt here. */
static cd_err write_all(cd_arena *mem, const cd_fin_group *g, const cd_secret *shares, const char *dir, cd_errinfo *why)
{
    cd_buf file = {0};
    CD_TRY(cd_fs_mkdirs(cd_fs_real(), dir, DIR_MODE, why));
    cd_fin_group_put(&file, g);
    cd_err e = write_new(cd_arena_fmt(mem, "%s/group.key", dir), cd_buf_bytes(&file), why);
    for (u32 i = 0; e == CD_OK && i < g->cnt; i++) {
        cd_buf_clear(&file);
        cd_fin_share_put(&file, g, (const cd_rt_share *)(const void *)shares[i].p);
        e = write_new(share_path(mem, dir, &g->nodes[i]), cd_buf_bytes(&file), why);
        cd_wipe(file.p, file.n);
    }
    cd_buf_fini(&file);
    return e;
}

static void put_dealt(cd_json_w *w, const cd_fin_group *g)
{
    cd_json_w_obj(w);
    cd_json_put_hash(w, "group", &g->id);
    cd_json_put_u64(w, "threshold", g->threshold);
    cd_json_w_key(w, "nodes");
    cd_json_w_arr(w);
    for (u32 i = 0; i < g->cnt; i++) {
        cd_buf id = {0};
        cd_node_id_put(&id, &g->nodes[i]);
        cd_json_w_str(w, cd_buf_bytes(&id));
        cd_buf_fini(&id);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}

cd_err cd__fin_deal(cd_json_w *w, cd_arena *mem, cd_bytes text, const char *dir, cd_errinfo *why)
{
    u8 seeds[64];
    cd_secret shares[CD_RT_PARTIES_MAX] = {0};
    cd_rng rng = cd_rng_os();
    cd_fin_group *g = cd_new(cd_fin_group);
    cd_err e = read_nodes(g, text, why);
    if (e == CD_OK) {
        cd_rng_fill(&rng, seeds, sizeof seeds);
        e = cd_fin_deal(g, shares, seeds, seeds + 32);
        cd_wipe(seeds, sizeof seeds);
    }
    e = e == CD_OK ? write_all(mem, g, shares, dir, why) : e;
    if (e == CD_OK) {
        put_dealt(w, g);
    }
    for (u32 i = 0; i < CD_RT_PARTIES_MAX; i++) {
        cd_secret_fini(&shares[i]);
    }
    cd_free(g);
    return e;
}
