#include "node/chain/chain.h"

#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "base/table/list.h"
#include "base/thread/thread.h"
#include "codec/ids.h"
#include "consensus/proposer/proposer.h"
#include "crypto/hash/sha2.h"
#include "node/chain/decider.h"
#include "node/finality.h"
#include "node/front/health.h"
#include "node/ipc.h"
#include "vm/shared/memory.h"

#include <stdio.h>

enum {
    GENESIS_MAX = 64 << 20,
    PATH_MAX_LEN = 4096,
    PART = 'K',    /* prefix in the store of a chain with a number; the number follows, two bytes */
    NUMBERS = 'N', /* key of a chain's number; the chain's id follows */
    GENESES = 'G', /* key of a chain's genesis where there is no folder; the chain's id follows */
    FETCHED = 'F', /* prefix of blocks on their way in (consensus/bootstrap); the prefix of the chain's part follows */
    WRAPPER = 'W', /* prefix of what the wrapper of proposers keeps; the prefix of the chain's part follows */
    MEMORY = 'M',  /* prefix of what chains leave for each other (vm/shared/memory.h) */
};

/* A validator in this process beside the node's own. */
typedef struct member {
    cd_kv *store; /* in memory, begun as a copy of the chain's part */
    cd_kv *part;
    cd_rng rng;
    cd_vm *vm;
} member;

struct cd_node_chain {
    const cd_node_env *env;
    cd_node_chain_cfg cfg;
    cd_node_hands hands;
    cd_node_chain_events events;
    cd_hash32 id;
    char *id_text;
    cd_rng rng;
    cd_metrics *metrics; /* figures of the VM; this and figures are NULL when nobody looks */
    cd_metrics *figures; /* figures about the chain */
    char dir[PATH_MAX_LEN];
    cd_decider *decider;
    cd_executor *executor;
    /* Made by the executor before it tells that the chain is open. */
    cd_kv *kv;
    cd_containers *containers; /* NULL: not kept */
    cd_kv *wrapper_kv;         /* this and the next are NULL when it has no wrapper */
    cd_kv *fetched_kv;
    cd_kv *memory_part;
    cd_vm_memory memory;
    cd_buf genesis;
    cd_vm *outer; /* the VM that is decided over: the wrapper, or vm */
    cd_vm *vm;    /* its own, without the wrapper */
    bool has_pages;
    cd_council_cfg council; /* this and members: of a chain that several decide */
    member members[CD_COUNCIL_MAX];
    struct {
        cd_rpc_job job;
        cd_mutex lock;  /* protects what follows */
        cd_buf message; /* the newest certificate that the VM was not told yet */
        bool is_posted;
    } final;
};

/* --- its place in the store --- */

static cd_bytes key_of(u8 key[33], u8 table, const cd_hash32 *id)
{
    key[0] = table;
    memcpy(key + 1, id->b, 32);
    return cd_bytes_of(key, 33);
}

/* The number after the highest that a chain was given. */
static cd_err next_number(cd_kv *store, u32 *out)
{
    const u8 table = NUMBERS;
    const cd_kv_range all = {.prefix = cd_bytes_of(&table, 1)};
    cd_kv_iter *it;
    *out = 1;
    CD_TRY(cd_kv_iter_new(&it, store, &all));
    while (cd_kv_iter_next(it)) {
        cd_bytes v = cd_kv_iter_value(it);
        *out = v.n == 2 ? (u32)cd_max_u64(*out, cd_be16(v.p) + 1u) : *out;
    }
    cd_err e = cd_kv_iter_err(it);
    cd_kv_iter_free(it);
    return e;
}

static cd_err number_of(cd_kv *store, const cd_hash32 *id, u16 *out, cd_errinfo *why)
{
    u8 key[33];
    u8 be[2];
    u32 fresh;
    cd_buf v = {0};
    cd_err e = cd_kv_get(store, &v, key_of(key, NUMBERS, id));
    if (e == CD_OK) {
        e = v.n == 2 ? CD_OK : CD_ECORRUPT;
        *out = v.n == 2 ? cd_be16(v.p) : 0;
    } else if (e == CD_ENOENT) {
        e = next_number(store, &fresh);
        if (e == CD_OK && fresh > UINT16_MAX) {
            e = cd_fail(why, CD_ELIMIT, "the store has seen too many chains");
        }
        if (e == CD_OK) {
            *out = (u16)fresh;
            cd_put_be16(be, *out);
            e = cd_kv_put(store, key_of(key, NUMBERS, id), cd_bytes_of(be, 2));
        }
    }
    cd_buf_fini(&v);
    return e;
}

static cd_err open_part(cd_node_chain *c, cd_errinfo *why)
{
    u8 prefix[3] = {(u8)c->cfg.prefix};
    usize n = 1;
    if (c->cfg.prefix == 0) {
        u16 number;
        CD_TRY(number_of(c->env->store, &c->id, &number, why));
        prefix[0] = PART;
        cd_put_be16(prefix + 1, number);
        n = sizeof prefix;
    }
    const u8 memory = MEMORY;
    c->kv = cd_kv_prefix_open(c->env->store, cd_bytes_of(prefix, n));
    if (c->cfg.is_wrapped) {
        u8 beside[1 + sizeof prefix] = {WRAPPER};
        memcpy(beside + 1, prefix, n);
        c->wrapper_kv = cd_kv_prefix_open(c->env->store, cd_bytes_of(beside, 1 + n));
        beside[0] = FETCHED;
        c->fetched_kv = cd_kv_prefix_open(c->env->store, cd_bytes_of(beside, 1 + n));
    }
    c->memory_part = cd_kv_prefix_open(c->env->store, cd_bytes_of(&memory, 1));
    cd_vm_memory_init(&c->memory, c->memory_part, &c->id);
    return CD_OK;
}

/* --- its genesis, beside the data that it belongs to: a new one is made once --- */

static cd_err make_genesis(cd_node_chain *c, cd_errinfo *why)
{
    return c->cfg.genesis(c->cfg.genesis_ctx, &c->genesis, cd_clock_wall_s(c->env->clock), why);
}

static cd_err genesis_in_store(cd_node_chain *c, cd_errinfo *why)
{
    u8 key[33];
    cd_bytes at = key_of(key, GENESES, &c->id);
    cd_err e = cd_kv_get(c->env->store, &c->genesis, at);
    if (e == CD_ENOENT) {
        CD_TRY(make_genesis(c, why));
        e = cd_kv_put(c->env->store, at, cd_buf_bytes(&c->genesis));
    }
    return e;
}

static cd_err load_genesis(cd_node_chain *c, cd_errinfo *why)
{
    char path[PATH_MAX_LEN];
    if (c->cfg.genesis == NULL) {
        cd_buf_put(&c->genesis, c->cfg.genesis_bytes);
        return CD_OK;
    }
    if (c->env->data_dir == NULL) {
        return genesis_in_store(c, why);
    }
    (void)snprintf(path, sizeof path, "%s/genesis-%s.json", c->env->data_dir, c->cfg.aliases[0]);
    cd_err e = cd_fs_read_file(cd_fs_real(), &c->genesis, path, GENESIS_MAX, why);
    if (e != CD_ENOENT) {
        return e;
    }
    CD_TRY(make_genesis(c, why));
    return cd_fs_replace_file(cd_fs_real(), path, cd_buf_bytes(&c->genesis), 0600, why);
}

/* --- on the executor --- */

static cd_err open_vm(cd_node_chain *c, cd_vm **out, const cd_vm_ctx *vm, cd_errinfo *why)
{
    const cd_proposer_cfg wrapper = {
        .inner = c->cfg.vm,
        .kv = c->wrapper_kv,
        .staking = c->env->staking,
        .delay_s = c->cfg.proposer_delay_s,
    };
    return c->cfg.is_wrapped ? cd_proposer_open(out, &wrapper, vm, why) : c->cfg.vm(out, vm, why);
}

/* Blocks of the primary network that are decided with peers become final. */
static bool is_made_final(const cd_node_chain *c)
{
    return c->env->finality != NULL && c->cfg.is_wrapped && cd_hash32_is_zero(&c->cfg.net_id);
}

/* Others of upstream's networks sign nothing: nobody waits for certificates there. */
static bool has_finality(const cd_node_chain *c)
{
    return is_made_final(c) && !c->env->network->family->upstream_modules;
}

static cd_vm_ctx ctx_of(cd_node_chain *c)
{
    const cd_node_env *env = c->env;
    enum { LIGHT = 16 }; /* so many of them take the share of one chain */
    const u32 parts = cd_node_chain_validators(c) * (c->cfg.is_light ? LIGHT : 1);
    const cd_budget share = parts == 1 ? env->share : cd_budget_part(&env->share, parts);
    return (cd_vm_ctx){
        .kv = c->kv,
        .log = env->log,
        .pool = env->pool,
        .host = cd_executor_host(c->executor),
        .loop = env->loop,
        .clock = env->clock,
        .rng = &c->rng,
        .shared = &c->memory.shared,
        .primary = env->primary,
        .users = env->users,
        .sender = cd_decider_sender(c->decider),
        .validators = &env->validators->for_vms,
        .signer = env->signer,
        .genesis = cd_buf_bytes(&c->genesis),
        .config = c->cfg.config,
        .upgrades = c->cfg.upgrades,
        .network_id = env->network->id,
        .subnet_id = c->cfg.net_id,
        .chain_id = c->id,
        .node_id = env->node_id,
        .name = c->cfg.aliases[0],
        .has_finality = has_finality(c),
        .is_dev = env->network->is_dev,
        .dev = c->cfg.dev,
        .is_stepped = env->is_stepped,
        .metrics = c->metrics,
        .dir = env->data_dir == NULL ? NULL : c->dir,
        .cache_bytes = share.state,
        .trie_bytes = share.tries,
        .text_bytes = share.texts,
    };
}

/* The P-Chain says who signs, and its peers are those who do. */
static cd_err open_finality(cd_node_chain *c, cd_errinfo *why)
{
    if (!is_made_final(c)) {
        return CD_OK;
    }
    cd_node_finality_chain(c->env->finality, c->cfg.aliases[0], &c->id);
    if (c->cfg.validators == NULL) {
        return CD_OK;
    }
    cd_node_finality_speak(c->env->finality, cd_decider_sender(c->decider));
    return cd_node_finality_open(c->env->finality, c->vm, why);
}

/* --- final blocks: from the thread of finality to the VM, the newest alone --- */

static void hand_final(const cd_node_chain *c, cd_bytes message)
{
    const cd_vm_app_ops *app = c->outer->ops->app;
    if (app != NULL) {
        app->gossip(c->outer, &c->env->node_id, message);
    }
}

static void run_final(cd_rpc_job *job)
{
    cd_node_chain *c = cd_list_of(job, cd_node_chain, final.job);
    cd_mutex_lock(&c->final.lock);
    cd_buf message = c->final.message;
    c->final.message = (cd_buf){0};
    c->final.is_posted = false;
    cd_mutex_unlock(&c->final.lock);
    hand_final(c, cd_buf_bytes(&message));
    cd_buf_fini(&message);
}

static bool on_final(void *ctx, cd_bytes message)
{
    cd_node_chain *c = ctx;
    cd_mutex_lock(&c->final.lock);
    cd_buf_clear(&c->final.message);
    cd_buf_put(&c->final.message, message);
    if (!c->final.is_posted) {
        c->final.job.run = run_final;
        c->final.is_posted = cd_executor_run_first(c->executor, &c->final.job) == CD_OK;
    }
    bool is_taken = c->final.is_posted;
    cd_mutex_unlock(&c->final.lock);
    return is_taken;
}

/* What was final when the node stopped is so from the first answer on. What is said meanwhile comes behind it, for this
 * runs where that does. */
static void tell_final(cd_node_chain *c)
{
    cd_buf message = {0};
    if (!is_made_final(c)) {
        return;
    }
    cd_node_finality_hear(c->env->finality, &c->id, on_final, c);
    if (cd_node_finality_last(c->env->finality, &message, &c->id) == CD_OK) {
        hand_final(c, cd_buf_bytes(&message));
    }
    cd_buf_fini(&message);
}

static cd_err on_open(void *ctx, cd_vm **out, cd_errinfo *why)
{
    cd_node_chain *c = ctx;
    const cd_node_env *env = c->env;
    CD_TRY(load_genesis(c, why));
    const cd_vm_ctx vm = ctx_of(c);
    CD_TRY(open_vm(c, out, &vm, why));
    if (c->containers != NULL) {
        cd_err e = cd_containers_catch_up(c->containers, *out, env->log, why);
        if (e != CD_OK) {
            (*out)->ops->close(*out);
            return e;
        }
    }
    c->outer = *out;
    c->vm = c->cfg.is_wrapped ? cd_proposer_inner(*out) : *out;
    if (c->cfg.validators != NULL) {
        cd_node_validators_set(env->validators, c->cfg.validators(c->vm));
    }
    cd_err e = open_finality(c, why);
    if (e != CD_OK) {
        (*out)->ops->close(*out);
        return e;
    }
    if (is_made_final(c) && c->cfg.validators != NULL) {
        cd_decider_ear(c->decider, cd_node_finality_ear(env->finality));
    }
    cd_decider_vm(c->decider, *out);
    tell_final(c);
    if (c->cfg.pages != NULL) {
        c->has_pages = true;
        c->cfg.pages->open(c->cfg.pages->ctx, c->vm, &c->hands);
    }
    return CD_OK;
}

/* --- other validators in this process; on the executor --- */

static cd_err copy_part(cd_kv *to, cd_kv *from, cd_errinfo *why)
{
    enum { BATCH = 4096 };
    const cd_kv_range all = {0};
    cd_kv_iter *it;
    cd_kv_batch batch = {0};
    usize n = 0;
    CD_TRY(cd_kv_iter_new(&it, from, &all));
    cd_err e = CD_OK;
    cd_kv_batch_for(&batch, to);
    while (e == CD_OK && cd_kv_iter_next(it)) {
        cd_kv_batch_put(&batch, cd_kv_iter_key(it), cd_kv_iter_value(it));
        if (++n % BATCH == 0) {
            e = cd_kv_commit(to, &batch, CD_KV_NOSYNC, why);
            cd_kv_batch_for(&batch, to);
        }
    }
    e = e == CD_OK ? cd_kv_iter_err(it) : e;
    e = e == CD_OK ? cd_kv_commit(to, &batch, CD_KV_NOSYNC, why) : e;
    cd_kv_batch_fini(&batch);
    cd_kv_iter_free(it);
    return e;
}

static void close_member(void *ctx, u32 idx)
{
    cd_node_chain *c = ctx;
    member *m = &c->members[idx];
    cd_kv_close(m->part);
    cd_kv_close(m->store);
    *m = (member){0};
}

static cd_err open_member(void *ctx, u32 idx, cd_vm **out, cd_commit_door *door, cd_errinfo *why)
{
    static const u8 prefix = 'C';
    cd_node_chain *c = ctx;
    member *m = &c->members[idx];
    m->store = cd_kv_mem_open();
    m->part = cd_kv_prefix_open(m->store, cd_bytes_of(&prefix, 1));
    m->rng = cd_rng_seeded(cd_rng_u64(&c->rng));
    CD_TRY(copy_part(m->part, c->kv, why));
    cd_vm_ctx vm = ctx_of(c);
    vm.kv = m->part;
    vm.rng = &m->rng;
    vm.dev = NULL;
    vm.lead = c->vm;
    vm.metrics = NULL;
    vm.dir = NULL;
    cd_council_node_id(&vm.node_id, &c->env->node_id, idx);
    CD_TRY(c->cfg.vm(&m->vm, &vm, why));
    *out = m->vm;
    *door = (cd_commit_door){.store = m->store, .chain = m->part, .sync = CD_KV_NOSYNC};
    return CD_OK;
}

u32 cd_node_chain_validators(const cd_node_chain *c)
{
    return c->cfg.is_wrapped || c->cfg.validator_cnt == 0 ? 1 : c->cfg.validator_cnt;
}

cd_vm *cd_node_chain_validator(const cd_node_chain *c, u32 idx)
{
    return idx == 0 ? c->vm : c->members[idx].vm;
}

/* --- through the commit door --- */

static cd_err on_accept(void *ctx, cd_kv_batch *batch, const cd_vm_block *b, cd_errinfo *why)
{
    cd_node_chain *c = ctx;
    cd_err e = c->containers == NULL ? CD_OK : cd_containers_append(c->containers, batch, b);
    return e == CD_OK ? e : cd_fail(why, e, "the index cannot be read: %s", cd_err_str(e));
}

/* What was accepted while the chain caught up is final by its descendants. */
static void make_final(cd_node_chain *c, const cd_vm_block *b)
{
    cd_proposer_sight in;
    if (cd_proposer_look(c->outer, &in, b) != CD_OK) {
        return;
    }
    if (c->cfg.validators != NULL) {
        cd_node_finality_pblock(c->env->finality, in.inner->height, in.inner->time);
    }
    if (cd_decider_is_running(c->decider)) {
        const cd_fin_msg msg = {
            .block = in.inner->id, .height = in.pchain_height, .time_ns = in.inner->time * CD_NS_PER_SEC};
        cd_node_finality_block(c->env->finality, &c->id, in.inner->height, &msg);
    }
}

static void on_landed(void *ctx, const cd_vm_block *b)
{
    cd_node_chain *c = ctx;
    if (c->containers != NULL) {
        cd_containers_landed(c->containers);
    }
    if (c->env->ipc != NULL) {
        cd_ipc_accepted(c->env->ipc, &c->id, b->bytes);
    }
    if (is_made_final(c)) {
        make_final(c, b);
    }
}

static void on_opened(void *ctx, cd_err err, const cd_errinfo *why)
{
    const cd_node_chain *c = ctx;
    if (err == CD_OK) {
        cd_decider_join(c->decider);
    }
    c->events.opened(c->events.ctx, err, why);
}

static void on_ended(void *ctx)
{
    const cd_node_chain *c = ctx;
    if (c->cfg.validators != NULL) {
        cd_node_validators_set(c->env->validators, NULL);
        if (c->env->finality != NULL) {
            cd_node_finality_speak(c->env->finality, NULL);
        }
    }
    c->events.ended(c->events.ctx);
}

/* --- the object --- */

static bool is_alias(const char *s)
{
    usize n = strlen(s);
    bool is_good = n != 0 && n <= CD_NODE_ALIAS_MAX;
    for (; *s != '\0'; s++) {
        is_good = is_good && ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
                              *s == '-' || *s == '_');
    }
    return is_good;
}

/* A network without a P-Chain names its chains itself. */
static cd_hash32 own_id(const cd_network *network, const char *name)
{
    cd_hash32 id;
    cd_buf text = {0};
    cd_buf_fmt(&text, "candela chain %u/%s", network->id, name);
    cd_sha256(&id, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return id;
}

static cd_rng rng_of(const cd_node_env *env, const cd_hash32 *id)
{
    return env->seed == 0 ? cd_rng_os() : cd_rng_seeded(env->seed ^ cd_be64(id->b));
}

cd_err cd_node_chain_new(cd_node_chain **out, const cd_node_env *env, const cd_node_chain_cfg *cfg,
                         const cd_node_hands *hands, bool has_label, const cd_node_chain_events *events,
                         cd_errinfo *why)
{
    CD_ASSERT(cfg->alias_cnt != 0);
    for (usize i = 0; i < cfg->alias_cnt; i++) {
        if (!is_alias(cfg->aliases[i])) {
            return cd_fail(why, CD_EINVAL, "\"%.40s\" is no name for a chain: up to %d letters, digits, '-' and '_'",
                           cfg->aliases[i], CD_NODE_ALIAS_MAX);
        }
    }
    const char *name = cfg->aliases[0];
    cd_node_chain *c = cd_new(cd_node_chain);
    c->env = env;
    c->cfg = *cfg;
    c->hands = *hands;
    c->events = *events;
    bool is_own = !cfg->has_id && cd_hash32_eq(&cfg->id, &(cd_hash32){0});
    c->id = is_own ? own_id(env->network, name) : cfg->id;
    cd_buf text = {0};
    cd_id_put(&text, &c->id);
    c->id_text = memcpy(cd_alloc(text.n + 1), cd_buf_cstr(&text), text.n + 1);
    cd_buf_fini(&text);
    c->rng = rng_of(env, &c->id);
    if (env->metrics != NULL) {
        const cd_label label = {"chain", name};
        c->metrics = cd_metrics_part_new(env->metrics, has_label ? &label : NULL);
        c->figures = cd_metrics_part_new(env->metrics, &label);
    }
    cd_mutex_init(&c->final.lock);
    if (env->data_dir != NULL) {
        (void)snprintf(c->dir, sizeof c->dir, "%s/chainData/%s", env->data_dir, name);
    }
    *out = c;
    return CD_OK;
}

/* Peers decide over chains of proposers alone. */
static cd_err make_decider(cd_node_chain *c, cd_errinfo *why)
{
    const cd_commit_door door = {
        .store = c->env->store,
        .chain = c->kv,
        .sync = CD_KV_SYNC,
        .also = on_accept,
        .landed = on_landed,
        .ctx = c,
    };
    c->council = (cd_council_cfg){
        .cnt = cd_node_chain_validators(c),
        .self = c->env->node_id,
        .door = door,
        .open = open_member,
        .close = close_member,
        .ctx = c,
        .rng = &c->rng,
        .log = c->env->log,
        .name = c->cfg.aliases[0],
    };
    const cd_decider_cfg cfg = {
        .door = door,
        .council = c->council.cnt > 1 ? &c->council : NULL,
        .peers = c->cfg.is_wrapped ? c->env->peers : NULL,
        .catchup = c->env->catchup,
        .fetched = c->fetched_kv,
        .is_first = c->cfg.validators != NULL,
        .validators = &c->env->validators->for_vms,
        .chain = c->id,
        .subnet = c->cfg.net_id,
        .self = c->env->node_id,
        .rng = &c->rng,
        .clock = c->env->clock,
        .log = c->env->log,
        .name = c->cfg.aliases[0],
    };
    return cd_decider_new(&c->decider, &cfg, why);
}

cd_err cd_node_chain_start(cd_node_chain *c, cd_errinfo *why)
{
    CD_TRY(open_part(c, why));
    if (c->env->has_index) {
        CD_TRY(cd_containers_open(&c->containers, c->env->store, &c->id, c->env->clock));
    }
    CD_TRY(make_decider(c, why));
    const cd_executor_cfg cfg = {
        .name = c->cfg.aliases[0],
        .clock = c->env->clock,
        .engine = cd_decider_engine(c->decider),
        .is_stepped = c->env->is_stepped,
        .open = on_open,
        .opened = on_opened,
        .ended = on_ended,
        .ctx = c,
    };
    c->executor = cd_executor_new(&cfg);
    cd_decider_bind(c->decider, c->executor);
    return cd_executor_start(c->executor, why);
}

cd_err cd_node_chain_await(cd_node_chain *c, cd_errinfo *why)
{
    return cd_executor_await(c->executor, why);
}

static void stop_hearing(cd_node_chain *c)
{
    if (is_made_final(c)) {
        cd_node_finality_hear(c->env->finality, &c->id, NULL, NULL);
    }
}

void cd_node_chain_end(cd_node_chain *c)
{
    if (c->executor != NULL) {
        stop_hearing(c);
        cd_decider_leave(c->decider);
        cd_executor_end(c->executor);
    }
}

void cd_node_chain_join(cd_node_chain *c)
{
    if (c->executor != NULL) {
        cd_executor_join(c->executor);
    }
}

void cd_node_chain_free(cd_node_chain *c)
{
    if (c == NULL) {
        return;
    }
    stop_hearing(c);
    cd_executor_free(c->executor);
    cd_buf_fini(&c->final.message);
    cd_mutex_fini(&c->final.lock);
    if (c->has_pages) {
        c->cfg.pages->close(c->cfg.pages->ctx);
    }
    cd_decider_free(c->decider);
    cd_metrics_free(c->metrics);
    cd_metrics_free(c->figures);
    cd_containers_free(c->containers);
    cd_kv_close(c->kv);
    cd_kv_close(c->wrapper_kv);
    cd_kv_close(c->fetched_kv);
    cd_kv_close(c->memory_part);
    cd_buf_fini(&c->genesis);
    cd_free(c->id_text);
    cd_free(c);
}

const char *cd_node_chain_name(const cd_node_chain *c)
{
    return c->cfg.aliases[0];
}

const cd_node_chain_cfg *cd_node_chain_cfg_of(const cd_node_chain *c)
{
    return &c->cfg;
}

const cd_hash32 *cd_node_chain_id(const cd_node_chain *c)
{
    return &c->id;
}

bool cd_node_chain_has_id(const cd_node_chain *c, cd_bytes text)
{
    return cd_bytes_eq(text, cd_bytes_str(c->id_text));
}

cd_executor *cd_node_chain_executor(cd_node_chain *c)
{
    return c->executor;
}

cd_vm *cd_node_chain_vm(const cd_node_chain *c)
{
    return c->vm;
}

const cd_containers *cd_node_chain_containers(const cd_node_chain *c)
{
    return c->containers;
}

bool cd_node_chain_is_bootstrapped(const cd_node_chain *c)
{
    return cd_decider_is_running(c->decider);
}

/* --- what is known of it --- */

/* Beyond this a block is not decided any more in the ordinary course of things. */

/* Figures of a chain that does not catch up: the first of the rows below. */
enum { ALWAYS = 6 };

/* For how long the lowest block that is not decided waits. */
static u64 waiting_ns(const cd_node_chain *c, const cd_executor_tip *tip)
{
    u64 now = cd_clock_mono_ns(c->env->clock);
    return tip->waiting_ns == 0 || now < tip->waiting_ns ? 0 : now - tip->waiting_ns;
}

/* A chain that catches up has no consensus yet. */
static void put_consensus(cd_json_w *w, const cd_executor_tip *tip, u64 waiting, bool is_running)
{
    cd_json_w_obj(w);
    if (!is_running) {
        cd_json_w_obj_end(w);
        return;
    }
    cd_json_w_key(w, "lastAcceptedHeight");
    cd_json_w_u64(w, tip->height);
    cd_json_w_key(w, "lastAcceptedID");
    cd_buf id = {0};
    cd_id_put(&id, &tip->id);
    cd_json_w_str(w, cd_buf_bytes(&id));
    cd_buf_fini(&id);
    cd_health_put_since(w, "longestProcessingBlock", waiting);
    cd_json_w_key(w, "processingBlocks");
    cd_json_w_u64(w, tip->processing);
    cd_json_w_obj_end(w);
}

static void put_progress(cd_json_w *w, const cd_bootstrap_progress *p)
{
    cd_json_w_key(w, "bootstrap");
    cd_json_w_obj(w);
    cd_json_put_u64(w, "executed", p->executed);
    cd_json_put_u64(w, "fetched", p->fetched);
    cd_json_put_u64(w, "secondsLeft", p->left_s);
    if (p->step == CD_BOOTSTRAP_SYNCS) {
        cd_json_put_u64(w, "stateItems", p->state.items);
        cd_json_put_u64(w, "statePermille", p->state.permille);
    }
    cd_json_put_cstr(w, "step", cd_bootstrap_step_name(p->step));
    cd_json_put_u64(w, "toExecute", p->to_execute);
    cd_json_put_u64(w, "toFetch", p->to_fetch);
    cd_json_w_obj_end(w);
}

const char *cd_node_chain_health(void *ctx, cd_json_w *message)
{
    cd_node_chain *c = ctx;
    cd_executor_tip tip;
    cd_buf vm = {0};
    cd_executor_tip_get(c->executor, &tip);
    const char *wrong = cd_executor_health(c->executor, &vm);
    cd_json_w_obj(message);
    cd_json_w_key(message, "engine");
    cd_json_w_obj(message);
    cd_bootstrap_progress progress;
    bool is_running = cd_decider_is_running(c->decider);
    if (!is_running && cd_decider_progress(c->decider, &progress)) {
        put_progress(message, &progress);
    }
    cd_json_w_key(message, "consensus");
    u64 waiting = waiting_ns(c, &tip);
    put_consensus(message, &tip, waiting, is_running);
    cd_json_w_key(message, "vm");
    if (vm.n != 0) {
        cd_json_w_raw(message, cd_buf_bytes(&vm));
    } else {
        cd_json_w_null(message);
    }
    cd_json_w_obj_end(message);
    cd_json_w_key(message, "networking");
    const char *apart = cd_decider_health(c->decider, message);
    cd_json_w_obj_end(message);
    cd_buf_fini(&vm);
    if (wrong == NULL) {
        wrong = cd_decider_load(c->decider, waiting, tip.processing);
    }
    return wrong != NULL ? wrong : apart;
}

void cd_node_chain_metrics(cd_node_chain *c)
{
    cd_executor_tip tip;
    cd_executor_tip_get(c->executor, &tip);
    cd_bootstrap_progress progress = {0};
    bool has_progress = cd_decider_progress(c->decider, &progress);
    const struct {
        const char *name;
        const char *help;
        u64 value;
    } rows[] = {
        {"snowman_last_accepted_height", "Height of the last accepted block", tip.height},
        {"snowman_blks_accepted_count", "Blocks accepted since the start", tip.accepted},
        {"snowman_blks_rejected_count", "Blocks rejected since the start", tip.rejected},
        {"snowman_blks_built", "Blocks that this node has built", tip.built},
        {"snowman_blks_issued", "Blocks that were found to be valid", tip.verified},
        {"snowman_blks_processing", "Blocks that are not decided", tip.processing},
        {"snowman_blks_accepted_container_size_sum", "Bytes of blocks accepted", tip.stats.accepted_bytes},
        {"snowman_blks_rejected_container_size_sum", "Bytes of blocks rejected", tip.stats.rejected_bytes},
        {"snowman_max_verified_height", "Height of the highest block that was found to be valid",
         tip.stats.verified_max},
        {"snowman_last_accepted_timestamp", "Time of the last accepted block, Unix seconds; 0: none since the start",
         tip.stats.accepted_time},
        {"snowman_polls_successful", "Polls in which a quorum voted for some block", tip.stats.polls_ok},
        {"snowman_polls_failed", "Polls in which none did", tip.stats.polls_failed},
        {"snowman_requests", "Blocks that were asked for and have not come", tip.stats.asked},
        {"snowman_blocked", "Blocks that wait for their parents", tip.stats.pending},
        {"snowman_bs_fetched", "Blocks fetched while catching up", progress.fetched},
        {"snowman_bs_accepted", "Blocks accepted while catching up", progress.executed},
        {"snowman_bs_to_fetch", "Blocks that are known to be fetched yet", progress.to_fetch},
        {"snowman_bs_to_accept", "Blocks that are known to be accepted yet", progress.to_execute},
        {"snowman_ss_items", "Leafs, codes and blocks that the sync of the state has fetched", progress.state.items},
        {"snowman_ss_permille", "How much of the state is synced, while it is", progress.state.permille},
        {"snowman_bs_seconds_left", "Until the step of catching up ends; 0: not known", progress.left_s},
    };
    usize cnt = has_progress ? CD_COUNT(rows) : ALWAYS;
    for (usize i = 0; c->figures != NULL && i < cnt; i++) {
        cd_gauge_set(cd_metrics_gauge(c->figures, rows[i].name, rows[i].help, NULL, 0), (i64)rows[i].value);
    }
}
