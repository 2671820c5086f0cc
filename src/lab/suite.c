#include "lab/suite.h"

#include "base/hex.h"
#include "base/mem/arena.h"
#include "base/mem/mem.h"
#include "base/os/fileio.h"
#include "base/thread/pool.h"
#include "base/thread/thread.h"
#include "codec/json.h"

/* --- which files --- */

typedef struct file_list {
    cd_arena arena;
    cd_buf paths; /* array of char * */
    cd_bytes skip;
} file_list;

static bool ends_with(const char *s, cd_bytes end)
{
    usize n = strlen(s);
    return n >= end.n && memcmp(s + n - end.n, end.p, end.n) == 0;
}

/* Tells whether path ends with a line of the skip list. */
static bool is_skipped(const char *path, cd_bytes list)
{
    usize at = 0;
    while (at < list.n) {
        const u8 *nl = memchr(list.p + at, '\n', list.n - at);
        usize end = nl == NULL ? list.n : (usize)(nl - list.p);
        cd_bytes line = cd_bytes_sub(list, at, end - at);
        while (line.n != 0 && line.p[line.n - 1] <= ' ') {
            line.n--;
        }
        if (line.n != 0 && line.p[0] != '#' && ends_with(path, line)) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

static void list_add(file_list *l, const char *path)
{
    if (!is_skipped(path, l->skip)) {
        char *copy = cd_arena_str(&l->arena, cd_bytes_str(path));
        cd_buf_put(&l->paths, cd_bytes_of(&copy, sizeof copy));
    }
}

static cd_err visit(void *ctx, const char *path, cd_fs_kind kind)
{
    if (kind == CD_FS_FILE && ends_with(path, cd_bytes_str(".json"))) {
        list_add(ctx, path);
    }
    return CD_OK;
}

static cd_err list_paths(file_list *l, const cd_suite *s, cd_errinfo *why)
{
    for (usize i = 0; i < s->path_cnt; i++) {
        cd_fs_stat st;
        CD_TRY(cd_fs_stat_get(cd_fs_real(), &st, s->paths[i], why));
        if (st.kind == CD_FS_DIR) {
            CD_TRY(cd_fs_walk(cd_fs_real(), s->paths[i], visit, l, why));
        } else {
            list_add(l, s->paths[i]);
        }
    }
    return CD_OK;
}

/* --- running --- */

/* The result of one file. */
typedef struct result {
    bool done;
    cd_tally tally;
    cd_buf out;
} result;

typedef struct run {
    const cd_suite *suite;
    char *const *paths;
    usize path_cnt;
    void **workers; /* one for each slot of the pool, made when first needed */
    cd_mutex lock;  /* protects what follows */
    result *results;
    usize printed; /* number of files whose lines the sink has got or is just getting */
    bool is_printing;
} run;

void cd_suite_one(const cd_suite *s, void *worker, cd_tally *tally, cd_buf *out, const char *path)
{
    cd_buf text = {0};
    cd_errinfo why = {0};
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, CD_SUITE_FILE_MAX, &why);
    if (e == CD_OK) {
        s->file(worker, tally, out, path, cd_buf_bytes(&text));
    } else {
        tally->failed++;
        cd_buf_fmt(out, "FAIL %s\n", why.msg);
    }
    cd_buf_fini(&text);
}

static void run_file(void *arg, usize i, u32 slot)
{
    run *r = arg;
    if (r->workers[slot] == NULL) {
        r->workers[slot] = r->suite->worker_new(r->suite->cfg);
    }
    result res = {.done = true};
    cd_suite_one(r->suite, r->workers[slot], &res.tally, &res.out, r->paths[i]);
    cd_mutex_lock(&r->lock);
    r->results[i] = res;
    /* One thread at a time calls the sink, without holding the lock. */
    if (!r->is_printing) {
        r->is_printing = true;
        while (r->printed < r->path_cnt && r->results[r->printed].done) {
            cd_buf out = r->results[r->printed++].out;
            cd_mutex_unlock(&r->lock);
            r->suite->sink(r->suite->sink_ctx, cd_buf_bytes(&out));
            cd_buf_fini(&out);
            cd_mutex_lock(&r->lock);
        }
        r->is_printing = false;
    }
    cd_mutex_unlock(&r->lock);
}

static cd_err run_all(cd_tally *total, const cd_suite *s, const file_list *l, cd_errinfo *why)
{
    cd_pool *pool = NULL;
    if (s->jobs > 1) {
        CD_TRY(cd_pool_new(&pool, s->jobs - 1, 1, "suite", why));
    }
    run r = {
        .suite = s,
        .paths = (char *const *)(void *)l->paths.p,
        .path_cnt = l->paths.n / sizeof(char *),
    };
    r.workers = cd_new_array(void *, cd_pool_slots(pool));
    r.results = cd_new_array(result, r.path_cnt);
    cd_mutex_init(&r.lock);
    cd_pool_for(pool, r.path_cnt, run_file, &r);
    for (usize i = 0; i < r.path_cnt; i++) {
        total->passed += r.results[i].tally.passed;
        total->failed += r.results[i].tally.failed;
    }
    for (u32 i = 0; i < cd_pool_slots(pool); i++) {
        if (r.workers[i] != NULL) {
            s->worker_free(r.workers[i]);
        }
    }
    cd_mutex_fini(&r.lock);
    cd_free(r.results);
    cd_free((void *)r.workers);
    cd_pool_free(pool);
    return CD_OK;
}

cd_err cd_suite_run(cd_tally *total, const cd_suite *s, cd_errinfo *why)
{
    file_list l = {0};
    cd_buf skip = {0};
    cd_err e = CD_OK;
    if (s->skip_list != NULL) {
        e = cd_fs_read_file(cd_fs_real(), &skip, s->skip_list, CD_SUITE_FILE_MAX, why);
        l.skip = cd_buf_bytes(&skip);
    }
    if (e == CD_OK) {
        e = list_paths(&l, s, why);
    }
    if (e == CD_OK) {
        e = run_all(total, s, &l, why);
    }
    cd_buf_fini(&skip);
    cd_buf_fini(&l.paths);
    cd_arena_fini(&l.arena);
    return e;
}

void cd_verdict_put(cd_buf *out, const cd_verdict *v, bool json, const char *path)
{
    if (!json) {
        if (!v->pass) {
            cd_buf_fmt(out, "FAIL %s %.*s %s %zu: %s\n", path, (int)v->name.n, (const char *)v->name.p, v->fork,
                       v->index, v->error);
        }
        return;
    }
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    cd_json_put_str(&w, "name", v->name);
    cd_json_put_cstr(&w, "fork", v->fork);
    cd_json_put_u64(&w, "index", v->index);
    cd_json_put_bool(&w, "pass", v->pass);
    cd_json_w_key(&w, "root");
    if (v->root != NULL) {
        cd_json_w_hex(&w, cd_bytes_of(v->root->b, 32));
    } else {
        cd_json_w_null(&w);
    }
    if (v->logs != NULL) {
        cd_json_put_hex(&w, "logs", cd_bytes_of(v->logs->b, 32));
    }
    cd_json_put_cstr(&w, "error", v->error);
    cd_json_w_obj_end(&w);
    cd_buf_u8(out, '\n');
}
