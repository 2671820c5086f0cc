#include "chains/evmchain/feed/log_scan.h"

#include "chains/evmchain/core/chaindb.h"
#include "chains/evmchain/core/dev/run.h"
#include "chains/evmchain/feed/log_index.h"

static bool has_values(const cd_log_criteria *want)
{
    bool has = want->addr_cnt != 0;
    for (usize i = 0; i < want->topic_cnt; i++) {
        has = has || want->topics[i].cnt != 0;
    }
    return has;
}

cd_err cd_log_scan_init(cd_log_scan *s, cd_view *view, const cd_log_criteria *want, u64 from, u64 to)
{
    bool is_whole = false;
    if (from < cd_view_first(view) && has_values(want)) {
        CD_TRY(cd_log_index_is_whole(cd_view_kv(view), &is_whole));
    }
    s->view = view;
    s->want = want;
    s->next = from;
    s->to = to;
    s->cost = 0;
    s->has_index = is_whole;
    s->has_known = false;
    s->known = 0;
    s->cnt = 0;
    s->at = 0;
    return CD_OK;
}

/* Moves next to the next height in the store that the index knows; behind the store's last one when there is none. */
static cd_err seek(cd_log_scan *s, u64 last)
{
    for (;;) {
        while (s->at < s->cnt && s->heights[s->at] < s->next) {
            s->at++;
        }
        if (s->at < s->cnt) {
            s->next = s->heights[s->at];
            return CD_OK;
        }
        if (s->has_known) {
            s->next = cd_max_u64(s->next, s->known + 1);
        }
        if (s->next > last) {
            return CD_OK;
        }
        s->at = 0;
        CD_TRY(cd_log_index_find(cd_view_kv(s->view), s->heights, &s->cnt, &s->known, s->want, s->next, last,
                                 CD_LOG_SCAN_CHUNK));
        s->has_known = true;
    }
}

/* Loads block next of the store if its bloom is promising; else *out stays NULL. Moves next behind it. */
static cd_err look(cd_log_scan *s, const cd_accepted **out, cd_arena *a)
{
    cd_kv *kv = cd_view_kv(s->view);
    cd_hash32 hash;
    cd_header h;
    cd_run run;
    cd_err e = cd_chaindb_hash(kv, &hash, s->next);
    if (e == CD_ENOENT) {
        CD_TRY(cd_run_find(kv, &run, s->next)); /* empty blocks, many at once */
        s->next = run.last + 1;
        return CD_OK;
    }
    CD_TRY(e);
    CD_TRY(cd_chaindb_header(kv, &h, a, cd_view_rules(s->view)->layout, &hash));
    if (cd_log_criteria_may_match(s->want, &h.bloom)) {
        CD_TRY(cd_view_block(s->view, out, a, s->next));
    }
    s->next++;
    return CD_OK;
}

cd_err cd_log_scan_next(cd_log_scan *s, const cd_accepted **out, cd_arena *a, u64 max)
{
    u64 first = cd_view_first(s->view);
    const cd_accepted *acc = NULL;
    while (acc == NULL && s->next < first && s->next <= s->to) {
        u64 last = cd_min_u64(s->to, first - 1);
        if (s->has_index) {
            CD_TRY(seek(s, last));
            if (s->next > last) {
                break;
            }
        }
        if (s->cost >= max) {
            return CD_EAGAIN;
        }
        s->cost++;
        CD_TRY(look(s, &acc, a));
    }
    while (acc == NULL && s->next <= s->to) {
        CD_TRY(cd_view_block(s->view, &acc, a, s->next++));
        if (acc->block.tx_cnt == 0 || !cd_log_criteria_may_match(s->want, &acc->block.header.bloom)) {
            acc = NULL;
        }
    }
    if (acc == NULL) {
        return CD_ENOENT;
    }
    *out = acc;
    return CD_OK;
}
