/* Whom to ask: of those who may be asked now, the one who gives most for a question and has few open. */
#include "chains/evmchain/sync/client_priv.h"

#define REST_NS (500 * CD_NS_PER_MS)

/* Rests get longer up to this many times REST_NS; rows of liars who have gone; a new peer counts as one who gives
 * this. */
enum { RESTS_MAX = 20, ROWS_MAX = 4096, ITEMS_AT_FIRST = 256 };

cd__peer *cd__peer_of(cd_sync_client *c, const cd_node_id *id)
{
    return cd_hmap_get(&c->peers, id);
}

static bool may_be_asked(const cd_sync_client *c, const cd_node_id *id)
{
    bool may = c->cfg.id_cnt == 0;
    for (u32 i = 0; i < c->cfg.id_cnt && !may; i++) {
        may = memcmp(c->cfg.ids[i].b, id->b, sizeof id->b) == 0;
    }
    return may;
}

void cd_sync_client_connected(cd_sync_client *c, const cd_node_id *peer)
{
    bool is_new;
    if (!may_be_asked(c, peer) || (cd_hmap_cnt(&c->peers) >= ROWS_MAX && cd__peer_of(c, peer) == NULL)) {
        return;
    }
    cd__peer *p = cd_hmap_put(&c->peers, &is_new, peer);
    if (is_new) {
        *p = (cd__peer){.items = ITEMS_AT_FIRST};
    }
    p->is_there = true;
}

/* A liar is remembered, and so is one whose questions are still open. */
void cd_sync_client_disconnected(cd_sync_client *c, const cd_node_id *peer)
{
    cd__peer *p = cd__peer_of(c, peer);
    if (p != NULL && (p->has_lied || p->open != 0)) {
        p->is_there = false;
    } else if (p != NULL) {
        (void)cd_hmap_del(&c->peers, peer);
    }
}

/* In one of eight cases any of them, so that others have a chance to turn out better; the choice among equals does not
 * depend on the order of the map. */
const cd_node_id *cd__peer_pick(cd_sync_client *c, cd__peer **at)
{
    const cd_node_id *best = NULL;
    double best_score = 0;
    u64 best_place = 0;
    bool is_any = cd_rng_below(c->cfg.rng, 8) == 0;
    u64 salt = cd_rng_u64(c->cfg.rng);
    u64 now = cd__sync_now(c);
    const void *key;
    void *val;
    for (usize it = 0; cd_hmap_next(&c->peers, &it, &key, &val);) {
        cd__peer *p = val;
        if (!p->is_there || p->has_lied || p->open >= CD_SYNC_OPEN_MAX || p->rest_ns > now) {
            continue;
        }
        double score = is_any ? 0 : p->items / (double)(p->open + 1);
        u64 place = cd_be64(key) ^ salt;
        if (best == NULL || score > best_score || (!(score < best_score) && place > best_place)) {
            best = key;
            best_score = score;
            best_place = place;
            *at = p;
        }
    }
    return best;
}

u32 cd__peers_left(const cd_sync_client *c)
{
    u32 cnt = 0;
    void *val;
    for (usize it = 0; cd_hmap_next(&c->peers, &it, NULL, &val);) {
        const cd__peer *p = val;
        cnt += p->is_there && !p->has_lied;
    }
    return cnt;
}

void cd__peer_gave(cd_sync_client *c, const cd_node_id *id, usize items)
{
    cd__peer *p = cd__peer_of(c, id);
    c->good_ns = cd__sync_now(c);
    c->bad_cnt = 0;
    if (p != NULL) {
        p->refusals = 0;
        p->items = (p->items * 3 + (double)items) / 4;
    }
}

void cd__peer_refused(cd_sync_client *c, const cd_node_id *id)
{
    cd__peer *p = cd__peer_of(c, id);
    c->stats.refused++;
    c->bad_cnt++;
    if (p != NULL) {
        p->refusals += p->refusals < RESTS_MAX;
        p->rest_ns = cd__sync_now(c) + REST_NS * p->refusals;
    }
}

void cd__peer_lied(cd_sync_client *c, const cd_node_id *id, const char *what)
{
    cd_buf text = {0};
    cd__peer *p = cd__peer_of(c, id);
    c->stats.lies++;
    c->bad_cnt++;
    if (p != NULL) {
        p->has_lied = true;
    }
    cd_node_id_put(&text, id);
    cd_log_warn(c->cfg.log, "a peer's answer about the state is wrong: it is asked no more", CD_F("chain", c->cfg.name),
                CD_F("peer", cd_buf_cstr(&text)), CD_F("what", what));
    cd_buf_fini(&text);
}
