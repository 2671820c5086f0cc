#include "node/chain/tracked.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "base/thread/thread.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    LOOK_MS = 500,
    RETRY_FIRST_MS = 1000,
    RETRY_MAX_MS = 8000,
    LONG_MS = 10000, /* who has run so long is forgiven */
    ALIAS_LEN = 30,  /* of the id's text: as much as a name may have */
};

typedef enum state {
    WAITING, /* to be opened, when it is time and there is a plugin */
    OPENING,
    RUNNING,
    CLOSING,
} state;

static const char *const state_names[] = {"waiting", "opening", "running", "closing"};

/* A chain; its memory stays as long as the node, since rows borrow it. */
typedef struct chain {
    cd_tracked *all;
    cd_arena mem;
    cd_hash32 vm_id;
    const cd_node_chain_cfg *row; /* made, or the program's */
    cd_node_chain_cfg made;
    cd_plugin_vm_cfg vm;
    char path[CD_PLUGINS_PATH_MAX];
    bool is_own; /* the program's: vm and path are not used */
    char alias[CD_NODE_ALIAS_MAX + 1];
    const char *aliases[1];
    char id[64];
    state state;
    u32 fails;
    u64 retry_ms;                      /* when to open it; the loop's time */
    u64 opened_ms;                     /* since when it runs */
    char reason[CD_PLUGIN_REASON_MAX]; /* why it does not run; under the lock of all */
    atomic_bool is_failed;             /* failed was posted for this opening */
    cd_loop_task failed;
} chain;

/* A list that the P-Chain was asked for. */
typedef struct asking {
    cd_rpc_job job; /* first */
    cd_loop_task task;
    cd_tracked *all;
    cd_vm *p;
    cd_arena mem;
    cd_tracked_chain found[CD_TRACKED_MAX];
    usize cnt;
} asking;

struct cd_tracked {
    cd_tracked_cfg cfg;
    cd_tracked_env env;
    cd_timer *timer;
    chain *chains[CD_TRACKED_MAX];
    usize cnt;
    asking ask;
    bool is_asking;
    bool is_stopped;
    cd_hash32 seen; /* the block of the P-Chain that was looked at last */
    bool has_seen;
    cd_mutex lock; /* protects reasons */
};

static cd_loop *loop_of(const cd_tracked *t)
{
    return cd_front_loop(t->env.front);
}

/* --- a chain fails, and is opened anew --- */

static void say_reason(chain *c, const char *reason)
{
    cd_mutex_lock(&c->all->lock);
    (void)snprintf(c->reason, sizeof c->reason, "%.*s", CD_PLUGIN_REASON_MAX - 1, reason);
    cd_mutex_unlock(&c->all->lock);
}

static void wait_longer(chain *c)
{
    u64 delay = RETRY_FIRST_MS;
    for (u32 i = 0; i < c->fails && delay < RETRY_MAX_MS; i++) {
        delay *= 2;
    }
    c->fails++;
    c->state = WAITING;
    c->retry_ms = cd_loop_now_ms(loop_of(c->all)) + cd_min_u64(delay, RETRY_MAX_MS);
}

static void on_closed(void *ctx, cd_err err, const cd_errinfo *why)
{
    chain *c = ctx;
    (void)err;
    (void)why;
    wait_longer(c);
}

static void close_chain(chain *c)
{
    u64 now = cd_loop_now_ms(loop_of(c->all));
    c->fails = now - c->opened_ms >= LONG_MS ? 0 : c->fails;
    c->state = CLOSING;
    cd_chains_order_close(c->all->env.chains, c->alias, on_closed, c);
}

static void on_failed_task(cd_loop_task *task)
{
    chain *c = cd_list_of(task, chain, failed);
    if (c->state == RUNNING && !c->all->is_stopped) {
        close_chain(c);
    }
}

/* Any thread. */
static void on_failed(void *ctx, const char *reason)
{
    chain *c = ctx;
    say_reason(c, reason);
    if (!atomic_exchange(&c->is_failed, true)) {
        cd_loop_post(loop_of(c->all), &c->failed);
    }
}

static void on_opened(void *ctx, cd_err err, const cd_errinfo *why)
{
    chain *c = ctx;
    if (err != CD_OK) {
        say_reason(c, why->msg[0] != '\0' ? (const char *)why->msg : cd_err_str(err));
        cd_log_error(c->all->env.log, "chain not opened", CD_F("chain", (const char *)c->id),
                     CD_F("error", (const char *)why->msg));
        wait_longer(c);
        return;
    }
    c->state = RUNNING;
    c->opened_ms = cd_loop_now_ms(loop_of(c->all));
    if (atomic_load(&c->is_failed)) {
        close_chain(c); /* it failed before it was known to run */
        return;
    }
    say_reason(c, "");
    cd_log_info(c->all->env.log, "chain opened", CD_F("chain", (const char *)c->id),
                CD_F("alias", (const char *)c->alias));
}

static void open_chain(chain *c)
{
    if (!c->is_own && !cd_plugins_path(c->all->env.plugins, c->path, &c->vm_id)) {
        cd_buf text = {0};
        cd_buf_str(&text, "no plugin for the VM ");
        cd_id_put(&text, &c->vm_id);
        say_reason(c, cd_buf_cstr(&text));
        cd_buf_fini(&text);
        return;
    }
    c->state = OPENING;
    atomic_store(&c->is_failed, false);
    cd_chains_order_open(c->all->env.chains, c->row, on_opened, c);
}

/* --- new ones --- */

static void id_text(char *out, usize n, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    (void)snprintf(out, n, "%s", cd_buf_cstr(&text));
    cd_buf_fini(&text);
}

static cd_err find_name(void *ctx, cd_hash32 *out, cd_bytes name)
{
    return cd_node_names_find(ctx, out, name) == CD_OK ? CD_OK : cd_id_parse(out, name, NULL);
}

static void list_names(void *ctx, cd_bytes **out, usize *cnt, cd_arena *a, const cd_hash32 *id)
{
    cd_node_names_list(ctx, out, cnt, a, id);
}

static void complete(chain *c, cd_plugin_vm_cfg *vm)
{
    const cd_tracked *t = c->all;
    vm->store = t->env.store;
    vm->names = (cd_plugin_names){.find = find_name, .list = list_names, .ctx = cd_chains_names(t->env.chains)};
    vm->signer = t->cfg.signer;
    vm->bls_key = t->env.bls_key;
    vm->failed = on_failed;
    vm->ctx = c;
}

static void add_own(cd_tracked *t, const cd_tracked_own *own)
{
    chain *c = cd_new(chain);
    c->all = t;
    c->is_own = true;
    c->row = own->row;
    c->state = RUNNING; /* or there is no node */
    c->failed.fn = on_failed_task;
    (void)snprintf(c->id, sizeof c->id, "%s", own->row->aliases[0]);
    (void)snprintf(c->alias, sizeof c->alias, "%s", own->row->aliases[0]);
    complete(c, own->vm);
    t->chains[t->cnt++] = c;
}

/* What candela-evm understands by its own store; other plugins may be told of blocks in that order as well. */
static bool wants_own_store(cd_bytes config)
{
    cd_arena mem = {0};
    cd_json doc = {0};
    cd_bytes type = {0};
    bool is_own = false;
    if (cd_json_parse(&doc, &mem, config, 0, NULL) == CD_OK) {
        cd_err e = cd_json_str(&type, cd_json_get(doc, "database-type"), NULL);
        is_own = e == CD_OK && cd_bytes_eq(type, cd_bytes_str("standalone"));
        (void)!cd_json_bool(&is_own, cd_json_get(doc, "use-standalone-database"), NULL);
    }
    cd_arena_fini(&mem);
    return is_own;
}

static void add_chain(cd_tracked *t, const cd_tracked_chain *f)
{
    chain *c = cd_new(chain);
    c->all = t;
    c->vm_id = f->vm_id;
    c->failed.fn = on_failed_task;
    id_text(c->id, sizeof c->id, &f->id);
    (void)snprintf(c->alias, sizeof c->alias, "%.*s", ALIAS_LEN, c->id);
    c->aliases[0] = c->alias;
    c->vm.path = c->path;
    complete(c, &c->vm);
    c->row = &c->made;
    c->made = (cd_node_chain_cfg){
        .id = f->id,
        .has_id = true,
        .net_id = f->net_id,
        .aliases = c->aliases,
        .alias_cnt = 1,
        .vm = cd_plugin_vm_open,
        .genesis_bytes = cd_arena_dup(&c->mem, f->genesis),
        .is_wrapped = t->cfg.is_wrapped,
        .is_light = true,
        .dev = &c->vm,
    };
    if (t->cfg.files != NULL) {
        t->cfg.files(t->cfg.ctx, &c->made.config, &c->made.upgrades, &c->mem, c->id, &c->vm_id);
        c->vm.has_own_store = wants_own_store(c->made.config);
    }
    t->chains[t->cnt++] = c;
}

static bool is_known(const cd_tracked *t, const cd_hash32 *id)
{
    for (usize i = 0; i < t->cnt; i++) {
        if (cd_hash32_eq(&t->chains[i]->row->id, id)) {
            return true;
        }
    }
    return false;
}

/* --- asking the P-Chain --- */

static void on_found(void *arg, const cd_tracked_chain *c)
{
    asking *a = arg;
    if (a->cnt < CD_COUNT(a->found)) {
        a->found[a->cnt] = *c;
        a->found[a->cnt++].genesis = cd_arena_dup(&a->mem, c->genesis);
    }
}

/* On the executor of the P-Chain. */
static void run_ask(cd_rpc_job *job)
{
    asking *a = (asking *)(void *)job;
    cd_tracked *t = a->all;
    for (usize i = 0; i < t->cfg.net_cnt; i++) {
        cd_err e = t->cfg.list(t->cfg.ctx, a->p, &t->cfg.nets[i], on_found, a);
        if (e != CD_OK) {
            cd_log_error(t->env.log, "chains of a net cannot be listed", CD_F_ERR("error", e));
        }
    }
    cd_loop_post(loop_of(t), &a->task);
}

static void on_told(cd_loop_task *task)
{
    asking *a = cd_list_of(task, asking, task);
    cd_tracked *t = a->all;
    for (usize i = 0; i < a->cnt && t->cnt < CD_TRACKED_MAX; i++) {
        if (!is_known(t, &a->found[i].id)) {
            add_chain(t, &a->found[i]);
        }
    }
    cd_arena_fini(&a->mem);
    a->cnt = 0;
    t->is_asking = false;
}

static void ask(cd_tracked *t)
{
    cd_executor_tip tip;
    cd_node_chain *p = cd_chains_find_chain(t->env.chains, cd_bytes_str("P"));
    if (p == NULL || t->is_asking) {
        return;
    }
    cd_executor_tip_get(cd_node_chain_executor(p), &tip);
    if (t->has_seen && cd_hash32_eq(&t->seen, &tip.id)) {
        return;
    }
    t->ask.p = cd_node_chain_vm(p);
    if (cd_executor_run(cd_node_chain_executor(p), &t->ask.job) == CD_OK) {
        t->is_asking = true;
        t->seen = tip.id;
        t->has_seen = true;
    }
}

static void on_timer(void *ctx)
{
    cd_tracked *t = ctx;
    u64 now = cd_loop_now_ms(loop_of(t));
    ask(t);
    for (usize i = 0; i < t->cnt; i++) {
        if (t->chains[i]->state == WAITING && t->chains[i]->retry_ms <= now) {
            open_chain(t->chains[i]);
        }
    }
}

/* --- health --- */

static const char *check(void *ctx, cd_json_w *message)
{
    cd_tracked *t = ctx;
    bool is_well = true;
    cd_json_w_obj(message);
    cd_mutex_lock(&t->lock);
    for (usize i = 0; i < t->cnt; i++) {
        const chain *c = t->chains[i];
        bool runs = c->state == RUNNING && c->reason[0] == '\0';
        is_well = is_well && runs;
        cd_json_w_key(message, c->id);
        cd_json_w_obj(message);
        cd_json_put_cstr(message, "state", state_names[c->state]);
        if (!runs) {
            cd_json_put_cstr(message, "reason", c->reason);
            cd_json_put_u64(message, "failures", c->fails);
        }
        cd_json_w_obj_end(message);
    }
    cd_mutex_unlock(&t->lock);
    cd_json_w_obj_end(message);
    return is_well ? NULL : "a chain does not run";
}

/* --- begin and end --- */

cd_tracked *cd_tracked_new(const cd_tracked_cfg *cfg, const cd_tracked_env *env)
{
    cd_tracked *t = cd_new(cd_tracked);
    t->cfg = *cfg;
    t->env = *env;
    t->ask = (asking){.job = {.run = run_ask}, .task = {.fn = on_told}, .all = t};
    cd_mutex_init(&t->lock);
    if (cfg->own != NULL) {
        add_own(t, cfg->own);
    }
    t->timer = cd_timer_new(loop_of(t), on_timer, t);
    cd_timer_start(t->timer, 0, LOOK_MS);
    cd_health_add(env->health, "plugins", CD_HEALTH_HEALTH, check, t);
    return t;
}

void cd_tracked_stop(cd_tracked *t)
{
    if (t != NULL && !t->is_stopped) {
        t->is_stopped = true;
        cd_timer_stop(t->timer);
        cd_health_remove(t->env.health, "plugins");
    }
}

void cd_tracked_free(cd_tracked *t)
{
    if (t == NULL) {
        return;
    }
    cd_tracked_stop(t);
    cd_timer_free(t->timer);
    cd_arena_fini(&t->ask.mem);
    for (usize i = 0; i < t->cnt; i++) {
        cd_arena_fini(&t->chains[i]->mem);
        cd_free(t->chains[i]);
    }
    cd_mutex_fini(&t->lock);
    cd_free(t);
}
