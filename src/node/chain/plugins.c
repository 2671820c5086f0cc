#include "node/chain/plugins.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "plugin/host/vm.h"

#include <stdio.h>

enum { AT_ONCE = 8 }; /* plugins that are tried at a time */

/* A VM that was loaded. */
typedef struct loaded {
    cd_hash32 vm_id;
    char *path;
    char version[CD_PLUGIN_VERSION_MAX];
} loaded;

/* A plugin that is tried. */
typedef struct trial {
    const cd_plugin_file *file;
    cd_logger *log;
    cd_thread thread;
    bool is_running;
    char version[CD_PLUGIN_VERSION_MAX];
    cd_err err;
    cd_errinfo why;
} trial;

struct cd_plugins {
    cd_plugins_cfg cfg;
    cd_mutex lock; /* protects the rest */
    bool is_loading;
    bool has_waiter; /* a second call waits for the first to end; a third is refused */
    cd_cond ended;   /* the loading has ended */
    loaded *all;
    usize cnt;
};

/* --- what there is --- */

static const loaded *find(const cd_plugins *p, const cd_hash32 *vm_id)
{
    for (usize i = 0; i < p->cnt; i++) {
        if (cd_hash32_eq(&p->all[i].vm_id, vm_id)) {
            return &p->all[i];
        }
    }
    return NULL;
}

bool cd_plugins_path(cd_plugins *p, char out[CD_PLUGINS_PATH_MAX], const cd_hash32 *vm_id)
{
    cd_mutex_lock(&p->lock);
    const loaded *l = find(p, vm_id);
    if (l != NULL) {
        (void)snprintf(out, CD_PLUGINS_PATH_MAX, "%s", l->path);
    }
    cd_mutex_unlock(&p->lock);
    return l != NULL;
}

static void put_id_key(cd_json_w *w, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    cd_json_w_key(w, cd_buf_cstr(&text));
    cd_buf_fini(&text);
}

static void put_vm(const cd_plugins *p, cd_json_w *w, const cd_hash32 *id)
{
    put_id_key(w, id);
    cd_json_w_arr(w);
    for (usize i = 0; i < p->cfg.alias_cnt; i++) {
        if (cd_hash32_eq(&p->cfg.aliases[i].vm_id, id)) {
            cd_json_w_cstr(w, p->cfg.aliases[i].name);
        }
    }
    cd_json_w_arr_end(w);
}

void cd_plugins_put_vms(cd_plugins *p, cd_json_w *w)
{
    cd_mutex_lock(&p->lock);
    for (usize i = 0; i < p->cnt; i++) {
        put_vm(p, w, &p->all[i].vm_id);
    }
    cd_mutex_unlock(&p->lock);
}

static const char *alias_of(const cd_plugins *p, const cd_hash32 *id)
{
    for (usize i = 0; i < p->cfg.alias_cnt; i++) {
        if (cd_hash32_eq(&p->cfg.aliases[i].vm_id, id)) {
            return p->cfg.aliases[i].name;
        }
    }
    return NULL;
}

void cd_plugins_put_versions(cd_plugins *p, cd_json_w *w)
{
    cd_mutex_lock(&p->lock);
    for (usize i = 0; i < p->cnt; i++) {
        const char *alias = alias_of(p, &p->all[i].vm_id);
        if (alias != NULL) {
            cd_json_w_key_str(w, cd_bytes_str(alias));
        } else {
            put_id_key(w, &p->all[i].vm_id);
        }
        cd_json_w_cstr(w, p->all[i].version);
    }
    cd_mutex_unlock(&p->lock);
}

/* --- loading --- */

cd_err cd_plugins_list(const cd_plugins_cfg *cfg, cd_plugin_file **out, usize *cnt, cd_arena *a, cd_errinfo *why)
{
    *out = NULL;
    *cnt = 0;
    if (cfg->may_miss && cd_plugin_dir_check(cfg->dir, NULL) == CD_ENOENT) {
        return CD_OK;
    }
    return cd_plugin_dir_list(out, cnt, a, cfg->dir, cfg->aliases, cfg->alias_cnt, why);
}

static void run_trial(void *arg)
{
    trial *t = arg;
    t->err = cd_plugin_probe(t->version, t->file->path, t->log, &t->why);
}

/* Tries them, a few at a time. */
static void try_all(trial *trials, usize cnt)
{
    for (usize from = 0; from < cnt; from += AT_ONCE) {
        usize to = cd_min_u64(from + AT_ONCE, cnt);
        for (usize i = from; i < to; i++) {
            trial *t = &trials[i];
            t->err = cd_thread_start(&t->thread, "plugin-try", run_trial, t, &t->why);
            t->is_running = t->err == CD_OK;
        }
        for (usize i = from; i < to; i++) {
            if (trials[i].is_running) {
                cd_thread_join(&trials[i].thread);
            }
        }
    }
}

static bool is_builtin(const cd_plugins *p, const cd_hash32 *id)
{
    for (usize i = 0; i < p->cfg.builtin_cnt; i++) {
        if (cd_hash32_eq(&p->cfg.builtin[i], id)) {
            return true;
        }
    }
    return false;
}

/* Those that are not known yet. */
static trial *trials_of(cd_plugins *p, const cd_plugin_file *files, usize cnt, usize *out_cnt)
{
    trial *out = cd_new_array(trial, cnt);
    *out_cnt = 0;
    cd_mutex_lock(&p->lock);
    for (usize i = 0; i < cnt; i++) {
        if (!is_builtin(p, &files[i].vm_id) && find(p, &files[i].vm_id) == NULL) {
            out[(*out_cnt)++] = (trial){.file = &files[i], .log = p->cfg.log};
        }
    }
    cd_mutex_unlock(&p->lock);
    return out;
}

static void keep(cd_plugins *p, const trial *t)
{
    usize n = strlen(t->file->path) + 1;
    loaded l = {.vm_id = t->file->vm_id, .path = memcpy(cd_alloc(n), t->file->path, n)};
    memcpy(l.version, t->version, sizeof l.version);
    cd_mutex_lock(&p->lock);
    p->all = cd_realloc(p->all, (p->cnt + 1) * sizeof *p->all);
    p->all[p->cnt++] = l;
    cd_mutex_unlock(&p->lock);
}

static void put_results(cd_plugins *p, cd_json_w *w, const trial *trials, usize cnt)
{
    usize failed = 0;
    cd_json_w_obj(w);
    cd_json_w_key(w, "newVMs");
    cd_json_w_obj(w);
    for (usize i = 0; i < cnt; i++) {
        failed += trials[i].err != CD_OK;
        if (trials[i].err == CD_OK) {
            put_vm(p, w, &trials[i].file->vm_id);
        }
    }
    cd_json_w_obj_end(w);
    if (failed != 0) {
        cd_json_w_key(w, "failedVMs");
        cd_json_w_obj(w);
        for (usize i = 0; i < cnt; i++) {
            if (trials[i].err != CD_OK) {
                put_id_key(w, &trials[i].file->vm_id);
                cd_json_w_cstr(w, trials[i].why.msg[0] != '\0' ? trials[i].why.msg : cd_err_str(trials[i].err));
            }
        }
        cd_json_w_obj_end(w);
    }
    cd_json_w_obj_end(w);
}

static cd_err load(cd_plugins *p, cd_json_w *w, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_plugin_file *files;
    usize file_cnt;
    usize cnt;
    cd_err e = cd_plugins_list(&p->cfg, &files, &file_cnt, &mem, why);
    if (e == CD_OK) {
        trial *trials = trials_of(p, files, file_cnt, &cnt);
        try_all(trials, cnt);
        for (usize i = 0; i < cnt; i++) {
            if (trials[i].err == CD_OK) {
                keep(p, &trials[i]);
                cd_log_info(p->cfg.log, "plugin loaded", CD_F("path", trials[i].file->path),
                            CD_F("version", (const char *)trials[i].version));
            } else {
                cd_log_error(p->cfg.log, "plugin cannot be used", CD_F("path", trials[i].file->path),
                             CD_F("error", (const char *)trials[i].why.msg));
            }
        }
        if (w != NULL) {
            put_results(p, w, trials, cnt);
        }
        cd_free(trials);
    }
    cd_arena_fini(&mem);
    return e;
}

/* For the loading of the start, or of somebody else. */
enum { WAIT_MS = 20000 };

cd_err cd_plugins_load(cd_plugins *p, cd_json_w *w, cd_errinfo *why)
{
    cd_mutex_lock(&p->lock);
    if (p->is_loading && !p->has_waiter) {
        p->has_waiter = true;
        while (p->is_loading && cd_cond_wait_ms(&p->ended, &p->lock, WAIT_MS)) {
        }
        p->has_waiter = false;
    }
    bool is_busy = p->is_loading;
    p->is_loading = true;
    cd_mutex_unlock(&p->lock);
    if (is_busy) {
        return cd_fail(why, CD_EBUSY, "plugins are being loaded already; try again in a moment");
    }
    cd_err e = load(p, w, why);
    cd_mutex_lock(&p->lock);
    p->is_loading = false;
    cd_cond_wake_all(&p->ended);
    cd_mutex_unlock(&p->lock);
    return e;
}

cd_plugins *cd_plugins_new(const cd_plugins_cfg *cfg)
{
    cd_plugins *p = cd_new(cd_plugins);
    p->cfg = *cfg;
    cd_mutex_init(&p->lock);
    cd_cond_init(&p->ended);
    return p;
}

void cd_plugins_free(cd_plugins *p)
{
    if (p == NULL) {
        return;
    }
    for (usize i = 0; i < p->cnt; i++) {
        cd_free(p->all[i].path);
    }
    cd_free(p->all);
    cd_cond_fini(&p->ended);
    cd_mutex_fini(&p->lock);
    cd_free(p);
}
