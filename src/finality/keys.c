#include "finality/keys.h"

#include "base/rd.h"
#include "finality/cert/verify.h"

static const char group_magic[] = "CDFG\0";
static const char share_magic[] = "CDFS\0";
enum { MAGIC = sizeof group_magic, NODES_MIN = 3 };

static bool takes_magic(cd_rd *r, const char *magic)
{
    return cd_bytes_eq(cd_rd_take(r, MAGIC), cd_bytes_of(magic, MAGIC));
}

static bool is_in_order(const cd_fin_group *g)
{
    bool good = g->cnt >= NODES_MIN && g->cnt <= CD_RT_PARTIES_MAX;
    for (u32 i = 1; good && i < g->cnt; i++) {
        good = memcmp(g->nodes[i - 1].b, g->nodes[i].b, sizeof g->nodes[i].b) < 0;
    }
    return good;
}

void cd_fin_group_put(cd_buf *out, const cd_fin_group *group)
{
    cd_buf_put(out, cd_bytes_of(group_magic, MAGIC));
    cd_put_be32(cd_buf_extend(out, 4), group->threshold);
    cd_put_be32(cd_buf_extend(out, 4), group->cnt);
    for (u32 i = 0; i < group->cnt; i++) {
        cd_buf_put(out, cd_bytes_of(group->nodes[i].b, sizeof group->nodes[i].b));
    }
    cd_rt_key_put(out, &group->key);
}

cd_err cd_fin_group_read(cd_fin_group *out, cd_bytes bytes)
{
    cd_rd r = cd_rd_init(bytes);
    bool is_ours = takes_magic(&r, group_magic);
    out->threshold = cd_rd_be32(&r);
    out->cnt = cd_rd_be32(&r);
    if (!is_ours || out->cnt > CD_RT_PARTIES_MAX) {
        return CD_EFORMAT;
    }
    for (u32 i = 0; i < out->cnt; i++) {
        cd_rd_copy(&r, out->nodes[i].b, sizeof out->nodes[i].b);
    }
    if (r.err != CD_OK || !is_in_order(out) || out->threshold != cd_fin_threshold(out->cnt)) {
        return r.err != CD_OK ? r.err : CD_EFORMAT;
    }
    CD_TRY(cd_rt_key_read(&out->key, cd_rd_take(&r, cd_rd_left(&r))));
    cd_rt_key_id(&out->id, &out->key);
    return CD_OK;
}

void cd_fin_share_put(cd_buf *out, const cd_fin_group *group, const cd_rt_share *share)
{
    cd_hash32 id;
    cd_rt_key_id(&id, &group->key);
    cd_buf_reserve(out, CD_FIN_SHARE_FILE_MAX); /* so that the secret is not left behind by growing */
    cd_buf_put(out, cd_bytes_of(share_magic, MAGIC));
    cd_buf_put(out, cd_bytes_of(id.b, sizeof id.b));
    cd_buf_put(out, cd_bytes_of(group->nodes[share->index].b, sizeof group->nodes[0].b));
    cd_rt_share_put(out, share);
}

cd_err cd_fin_share_read(cd_secret *out, cd_bytes bytes, const cd_fin_group *group, const cd_node_id *node)
{
    cd_rd r = cd_rd_init(bytes);
    cd_hash32 id;
    cd_node_id of;
    bool is_ours = takes_magic(&r, share_magic);
    cd_rd_copy(&r, id.b, sizeof id.b);
    cd_rd_copy(&r, of.b, sizeof of.b);
    if (!is_ours || r.err != CD_OK) {
        return r.err != CD_OK ? r.err : CD_EFORMAT;
    }
    if (!cd_hash32_eq(&id, &group->id) || memcmp(of.b, node->b, sizeof of.b) != 0) {
        return CD_EKEY;
    }
    CD_TRY(cd_rt_share_read(out, cd_rd_take(&r, cd_rd_left(&r))));
    const cd_rt_share *s = (const cd_rt_share *)(const void *)out->p;
    if (s->parties != group->cnt || s->threshold != group->threshold || s->index >= group->cnt ||
        memcmp(group->nodes[s->index].b, node->b, sizeof node->b) != 0) {
        cd_secret_fini(out);
        return CD_EKEY;
    }
    return CD_OK;
}

cd_err cd_fin_deal(cd_fin_group *group, cd_secret *shares, const u8 dealer_key[32], const u8 secret[32])
{
    if (!is_in_order(group)) {
        return CD_EINVAL;
    }
    group->threshold = cd_fin_threshold(group->cnt);
    cd_rt_deal(&group->key, shares, group->cnt, group->threshold, dealer_key, secret);
    cd_rt_key_id(&group->id, &group->key);
    return CD_OK;
}
