#include "node/chain/l1_watch.h"

#include "base/mem/mem.h"
#include "base/table/list.h"

#include <stdio.h>

/* One net. */
typedef struct watched {
    char name[80]; /* of the check */
    char id[64];
    const char *wrong;
    cd_buf message; /* empty: nothing is known yet */
    char said[32];  /* the cause that the log was told last */
    u64 said_ms;
    cd_l1_word found; /* on its way from the executor; in mem of all */
} watched;

struct cd_l1_watch {
    cd_rpc_job job; /* first */
    cd_loop_task task;
    cd_l1_watch_cfg cfg;
    cd_l1_watch_env env;
    cd_timer *timer;
    cd_arena mem; /* of what was found */
    cd_vm *p;
    bool is_looking;
    bool is_stopped;
    usize cnt;
    watched nets[CD_L1_WATCH_MAX];
};

/* --- telling --- */

static void set(const cd_l1_watch *w, const watched *n, const char *name, const char *help, u64 value)
{
    const cd_label label = {.name = "subnet", .value = n->id};
    cd_gauge_set(cd_metrics_gauge(w->env.metrics, name, help, &label, 1), (i64)cd_min_u64(value, INT64_MAX));
}

static void measure(const cd_l1_watch *w, const watched *n)
{
    const cd_l1_word *f = &n->found;
    if (w->env.metrics == NULL || !f->is_l1) {
        return;
    }
    set(w, n, "l1_state", "0: the L1 goes on, 1: slowly, 2: it stands still", f->state);
    set(w, n, "l1_validators", "Validators of the L1", f->validators);
    set(w, n, "l1_inactive_validators", "Validators without balance", f->inactive);
    set(w, n, "l1_unreachable_validators", "Validators that pay and cannot be reached", f->unreachable);
    set(w, n, "l1_can_fail", "Validators that may fail besides", f->can_fail);
    set(w, n, "l1_voting_permille", "Thousandths of the weight that vote", f->voting_permille);
    set(w, n, "l1_first_balance_ends_seconds", "Seconds until the first balance ends", f->first_end_s);
    set(w, n, "l1_halts_seconds", "Seconds until it stands still for balances that end", f->halt_s);
}

static void say(const cd_l1_watch *w, watched *n)
{
    u64 now = cd_loop_now_ms(w->env.loop);
    const char *cause = n->found.cause == NULL ? "" : n->found.cause;
    bool is_same = strcmp(n->said, cause) == 0;
    if (is_same && (cause[0] == '\0' || now - n->said_ms < CD_L1_WATCH_SAY_S * 1000ull)) {
        return;
    }
    (void)snprintf(n->said, sizeof n->said, "%s", cause);
    n->said_ms = now;
    if (cause[0] == '\0') {
        cd_log_info(w->env.log, "the L1 is well again", CD_F("subnet", (const char *)n->id));
    } else {
        cd_log_warn(w->env.log, "an L1 needs its operators", CD_F("subnet", (const char *)n->id), CD_F("cause", cause),
                    CD_F("text", n->found.text), CD_F("help", n->found.help));
    }
}

static const char *check(void *ctx, cd_json_w *message)
{
    const watched *n = ctx;
    if (n->message.n == 0) {
        cd_json_w_null(message);
        return NULL;
    }
    cd_json_w_raw(message, cd_buf_bytes(&n->message));
    return n->wrong;
}

static void on_looked(cd_loop_task *task)
{
    cd_l1_watch *w = cd_list_of(task, cd_l1_watch, task);
    for (usize i = 0; i < w->cnt && !w->is_stopped; i++) {
        watched *n = &w->nets[i];
        cd_buf_clear(&n->message);
        if (n->found.is_l1) {
            cd_buf_put(&n->message, n->found.message);
        }
        n->wrong = n->found.is_l1 ? n->found.wrong : NULL;
        measure(w, n);
        say(w, n);
    }
    cd_arena_reset(&w->mem);
    w->is_looking = false;
}

/* --- looking --- */

/* On the executor of the P-Chain. */
static void run_look(cd_rpc_job *job)
{
    cd_l1_watch *w = (cd_l1_watch *)(void *)job;
    for (usize i = 0; i < w->cnt; i++) {
        w->nets[i].found = (cd_l1_word){.is_l1 = false};
        w->cfg.look(w->cfg.ctx, &w->nets[i].found, &w->mem, w->p, &w->cfg.nets[i]);
    }
    cd_loop_post(w->env.loop, &w->task);
}

static void on_timer(void *ctx)
{
    cd_l1_watch *w = ctx;
    cd_node_chain *p = cd_chains_find_chain(w->env.chains, cd_bytes_str("P"));
    if (p == NULL || w->is_looking) {
        return;
    }
    w->p = cd_node_chain_vm(p);
    w->is_looking = cd_executor_run(cd_node_chain_executor(p), &w->job) == CD_OK;
}

/* --- begin and end --- */

static void begin(cd_l1_watch *w, watched *n, const cd_hash32 *net)
{
    cd_buf text = {0};
    cd_id_put(&text, net);
    (void)snprintf(n->id, sizeof n->id, "%s", cd_buf_cstr(&text));
    (void)snprintf(n->name, sizeof n->name, "l1-%s", n->id);
    cd_buf_fini(&text);
    cd_health_add(w->env.health, n->name, CD_HEALTH_HEALTH, check, n);
    cd_health_tag(w->env.health, n->name, net, 1);
}

cd_l1_watch *cd_l1_watch_new(const cd_l1_watch_cfg *cfg, const cd_l1_watch_env *env)
{
    cd_l1_watch *w = cd_new(cd_l1_watch);
    w->cfg = *cfg;
    w->env = *env;
    w->job.run = run_look;
    w->task.fn = on_looked;
    w->cnt = cd_min_u64(cfg->net_cnt, CD_L1_WATCH_MAX);
    for (usize i = 0; i < w->cnt; i++) {
        begin(w, &w->nets[i], &cfg->nets[i]);
    }
    w->timer = cd_timer_new(env->loop, on_timer, w);
    cd_timer_start(w->timer, 1000, CD_L1_WATCH_LOOK_S * 1000ull);
    return w;
}

void cd_l1_watch_stop(cd_l1_watch *w)
{
    if (w == NULL || w->is_stopped) {
        return;
    }
    w->is_stopped = true;
    cd_timer_stop(w->timer);
    for (usize i = 0; i < w->cnt; i++) {
        cd_health_remove(w->env.health, w->nets[i].name);
    }
}

void cd_l1_watch_free(cd_l1_watch *w)
{
    if (w == NULL) {
        return;
    }
    cd_l1_watch_stop(w);
    cd_timer_free(w->timer);
    for (usize i = 0; i < w->cnt; i++) {
        cd_buf_fini(&w->nets[i].message);
    }
    cd_arena_fini(&w->mem);
    cd_free(w);
}
