#include "node/chain/decider.h"

#include "base/mem/mem.h"
#include "base/num_text.h"
#include "consensus/solo.h"
#include "node/peers/catchup.h"
#include "node/peers/peers.h"

#include <stdio.h>

struct cd_decider {
    cd_decider_cfg cfg;
    cd_engine *engine;    /* decides */
    cd_engine *bootstrap; /* this and the next three are NULL where the node decides alone */
    cd_link *link;
    cd_catchup_chain *place;
    cd_node_id *beacons;
    cd_node_id *sync_beacons;
    char wrong[160]; /* what the health check says */
};

/* --- catching up; on the executor --- */

static bool may_begin(void *ctx)
{
    return cd_catchup_may_begin(((const cd_decider *)ctx)->place);
}

static bool may_run(void *ctx)
{
    return cd_catchup_may_run(((const cd_decider *)ctx)->place);
}

static void on_synced(void *ctx)
{
    cd_catchup_synced(((const cd_decider *)ctx)->place);
}

static void on_running(void *ctx)
{
    cd_catchup_running(((const cd_decider *)ctx)->place);
}

static cd_err make_bootstrap(cd_decider *d, cd_errinfo *why)
{
    const cd_decider_cfg *cfg = &d->cfg;
    u32 cnt = 0;
    bool skips = cd_node_peers_tuning(cfg->peers)->skip_bootstrap;
    d->place = cd_catchup_join(cfg->catchup, &cfg->subnet, cfg->is_first);
    u32 sync_cnt = 0;
    d->beacons = cd_node_peers_beacons(cfg->peers, &cnt);
    d->sync_beacons = cd_node_peers_sync_beacons(cfg->peers, &sync_cnt);
    cd_bootstrap_cfg bootstrap = {
        .engine = d->engine,
        .door = cfg->door,
        .kv = cfg->fetched,
        .net = cd_link_asks(d->link),
        .has_beacons = cfg->is_first || skips,
        .beacons = d->beacons,
        .beacon_cnt = skips ? 0 : cnt,
        .sync_beacons = d->sync_beacons,
        .sync_beacon_cnt = skips ? 0 : sync_cnt,
        .validators = cfg->validators,
        .subnet = cfg->subnet,
        .self = cfg->self,
        .rng = cfg->rng,
        .may_begin = may_begin,
        .may_run = may_run,
        .synced = on_synced,
        .running = on_running,
        .ctx = d,
        .log = cfg->log,
        .name = cfg->name,
    };
    /* What a crash of the machine takes is fetched again; the end of each pass is on disk. */
    bootstrap.door.sync = CD_KV_NOSYNC;
    return cd_bootstrap_new(&d->bootstrap, &bootstrap, why);
}

static cd_err make_shared(cd_decider *d, cd_errinfo *why)
{
    const cd_decider_cfg *cfg = &d->cfg;
    const cd_snowman_cfg snowman = {
        .door = cfg->door,
        .params = cd_node_peers_tuning(cfg->peers)->voting,
        .subnet = cfg->subnet,
        .net = cd_link_net(d->link),
        .validators = cfg->validators,
        .self = cfg->self,
        .rng = cfg->rng,
        .log = cfg->log,
        .name = cfg->name,
    };
    CD_TRY(cd_snowman_new(&d->engine, &snowman, why));
    return make_bootstrap(d, why);
}

cd_err cd_decider_new(cd_decider **out, const cd_decider_cfg *cfg, cd_errinfo *why)
{
    cd_decider *d = cd_new(cd_decider);
    d->cfg = *cfg;
    d->link = cfg->peers == NULL ? NULL : cd_node_peers_link(cfg->peers, &cfg->chain, &cfg->subnet, cfg->name);
    if (d->link != NULL) {
        cd_err e = make_shared(d, why);
        if (e != CD_OK) {
            cd_decider_free(d);
            return e;
        }
    } else if (cfg->council != NULL) {
        cd_err e = cd_council_new(&d->engine, cfg->council, why);
        if (e != CD_OK) {
            cd_decider_free(d);
            return e;
        }
    } else {
        const cd_solo_cfg solo = {.door = cfg->door, .log = cfg->log, .name = cfg->name};
        d->engine = cd_solo_new(&solo);
    }
    *out = d;
    return CD_OK;
}

void cd_decider_free(cd_decider *d)
{
    if (d == NULL) {
        return;
    }
    if (d->link == NULL && d->cfg.council != NULL) {
        cd_council_free(d->engine);
    } else if (d->link == NULL) {
        cd_solo_free(d->engine);
    } else {
        cd_bootstrap_free(d->bootstrap);
        cd_snowman_free(d->engine);
        cd_node_peers_unlink(d->cfg.peers, d->link);
    }
    cd_catchup_leave(d->place);
    cd_free(d->beacons);
    cd_free(d->sync_beacons);
    cd_free(d);
}

cd_engine *cd_decider_engine(cd_decider *d)
{
    return d->bootstrap != NULL ? d->bootstrap : d->engine;
}

void cd_decider_bind(cd_decider *d, cd_executor *executor)
{
    if (d->link != NULL) {
        cd_link_bind(d->link, d->engine, d->bootstrap, executor);
    }
}

const cd_vm_sender *cd_decider_sender(const cd_decider *d)
{
    return d->link == NULL ? NULL : cd_link_sender(d->link);
}

void cd_decider_vm(cd_decider *d, cd_vm *vm)
{
    if (d->link != NULL) {
        cd_link_vm(d->link, vm);
    }
}

void cd_decider_ear(cd_decider *d, const cd_inbox_ear *ear)
{
    if (d->link != NULL) {
        cd_link_ear(d->link, ear);
    }
}

void cd_decider_join(cd_decider *d)
{
    if (d->link != NULL) {
        cd_link_join(d->link);
    }
}

void cd_decider_leave(cd_decider *d)
{
    if (d->link != NULL) {
        cd_link_leave(d->link);
    }
}

/* --- what is known of it --- */

bool cd_decider_is_running(const cd_decider *d)
{
    return d->place == NULL || cd_catchup_is_running(d->place);
}

bool cd_decider_progress(cd_decider *d, cd_bootstrap_progress *out)
{
    if (d->link != NULL) {
        cd_link_progress(d->link, out);
    }
    return d->link != NULL;
}

/* So much stake must be there, as the original has it: what a quorum needs, and a fifth of the rest. */
static double least_connected(const cd_snow_params *params)
{
    const cd_snow_params p = *params;
    return (double)p.alpha_confidence / p.k * 0.8 + 0.2;
}

const char *cd_decider_load(cd_decider *d, u64 waiting_ns, u64 processing)
{
    cd_node_tuning alone = {0};
    cd_node_tuning_fill(&alone);
    const cd_node_tuning *t = d->link == NULL ? &alone : cd_node_peers_tuning(d->cfg.peers);
    if (waiting_ns > t->waiting_ns) {
        char span[CD_DURATION_TEXT_MAX];
        (void)cd_duration_fmt(span, t->waiting_ns);
        (void)snprintf(d->wrong, sizeof d->wrong, "block processing too long: more than %s", span);
        return d->wrong;
    }
    if (processing > t->blocks_max) {
        (void)snprintf(d->wrong, sizeof d->wrong, "too many processing blocks: %llu > %llu",
                       (unsigned long long)processing, (unsigned long long)t->blocks_max);
        return d->wrong;
    }
    return NULL;
}

const char *cd_decider_health(cd_decider *d, cd_json_w *w)
{
    cd_json_w_obj(w);
    if (d->link == NULL) {
        cd_json_put_u64(w, "percentConnected", 1);
        cd_json_w_obj_end(w);
        return NULL;
    }
    double least = least_connected(&cd_node_peers_tuning(d->cfg.peers)->voting);
    double part = cd_node_peers_connected(d->cfg.peers, &d->cfg.chain, w);
    cd_json_w_obj_end(w);
    if (part < least) {
        (void)snprintf(d->wrong, sizeof d->wrong,
                       "not connected to enough stake: connected to %f%%; required at least %f%%", part * 100,
                       least * 100);
        return d->wrong;
    }
    return cd_link_behind(d->link) != 0 ? "the chain is behind its peers" : NULL;
}
