#include "services/webhook/core/chain/l1.h"

#include "base/mem/mem.h"
#include "base/table/list.h"
#include "services/common/upstream.h"
#include "services/webhook/core/store/notice.h"

enum {
    TEXT_MAX = 400,
    WORD_MAX = 40,
    ID_MAX = 64,
    ANSWER_MAX = 16 << 20, /* with a few hundred bytes for each of 20,000 validators */
};

/* Of the answer, what is told. */
typedef struct standing {
    char state[WORD_MAX + 1], severity[WORD_MAX + 1], cause[WORD_MAX + 1];
    char text[TEXT_MAX + 1], help[TEXT_MAX + 1];
} standing;

struct cd_wh_l1_watch {
    cd_wh_l1_cfg cfg;
    cd_upstream info, platform;
    cd_arena place; /* URLs */
    cd_arena mem;   /* of a call */
    const char *name;
    char chain_id[ID_MAX + 1], net[ID_MAX + 1];
    cd_call *call;
    cd_timer *again;
    standing seen, told; /* told: what the job is given */
    cd_job job;
    bool tells;
};

static void next(cd_wh_l1_watch *w);

static void later(cd_wh_l1_watch *w)
{
    cd_timer_start(w->again, w->cfg.look_ms, 0);
}

/* --- telling --- */

static cd_err run_tell(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    cd_wh_l1_watch *w = cd_list_of(job, cd_wh_l1_watch, job);
    const cd_wh_l1 l1 = {
        .chain = w->cfg.chain,
        .net = w->net,
        .state = w->told.state,
        .severity = w->told.severity,
        .cause = w->told.cause,
        .text = w->told.text,
        .help = w->told.help,
    };
    return cd_wh_notice_l1(s, &l1, why);
}

static void done_tell(cd_job *job)
{
    cd_wh_l1_watch *w = cd_list_of(job, cd_wh_l1_watch, job);
    w->tells = false;
    if (job->err != CD_OK) {
        cd_log_warn(w->cfg.log, "the L1's health is not told", CD_F("chain", w->cfg.chain), CD_F("why", job->why.msg));
    } else if (w->again != NULL) {
        w->cfg.due(w->cfg.ctx);
    }
}

static bool is_same(const standing *a, const standing *b)
{
    return strcmp(a->severity, b->severity) == 0 && strcmp(a->cause, b->cause) == 0;
}

/* The store knows what was told; of most looks it is told nothing, so every one may ask it. */
static void tell(cd_wh_l1_watch *w, const standing *now)
{
    bool is_sure = strcmp(now->severity, "halt") == 0 || is_same(now, &w->seen);
    w->seen = *now;
    if (!is_sure || w->tells) {
        return;
    }
    w->told = *now;
    w->tells = true;
    w->job = (cd_job){.run = run_tell, .done = done_tell};
    cd_jobs_write(w->cfg.db, &w->job);
}

/* --- answers --- */

/* A text of the answer without what is no text, cut; "" when there is none. */
static void take_text(char *out, usize max, cd_json v)
{
    cd_bytes text = {0};
    usize n = 0;
    if (cd_json_str(&text, v, NULL) != CD_OK) {
        text.n = 0;
    }
    for (usize i = 0; i < text.n && n < max; i++) {
        if (text.p[i] >= 0x20 && text.p[i] < 0x7f) {
            out[n++] = (char)text.p[i];
        }
    }
    out[n] = '\0';
}

/* A machine's word: nothing else is taken. */
static bool take_word(char *out, usize max, cd_json v)
{
    cd_bytes text = {0};
    if (cd_json_str(&text, v, NULL) != CD_OK || text.n == 0 || text.n > max) {
        return false;
    }
    for (usize i = 0; i < text.n; i++) {
        u8 c = text.p[i];
        bool is_plain =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
        if (!is_plain) {
            return false;
        }
    }
    memcpy(out, text.p, text.n);
    out[text.n] = '\0';
    return true;
}

/* Findings come worst first; notes are nobody's business here. */
static bool read_standing(standing *out, cd_json v)
{
    *out = (standing){.severity = "well", .text = "The L1 is well."};
    if (!take_word(out->state, WORD_MAX, cd_json_get(v, "state"))) {
        return false;
    }
    cd_json worst = cd_json_at(cd_json_get(v, "findings"), 0);
    char severity[WORD_MAX + 1];
    if (!take_word(severity, WORD_MAX, cd_json_get(worst, "severity")) ||
        (strcmp(severity, "warning") != 0 && strcmp(severity, "halt") != 0)) {
        return true;
    }
    memcpy(out->severity, severity, sizeof severity);
    take_text(out->text, TEXT_MAX, cd_json_get(worst, "text"));
    take_text(out->help, TEXT_MAX, cd_json_get(worst, "help"));
    return take_word(out->cause, WORD_MAX, cd_json_get(worst, "cause"));
}

static void on_health(void *ctx, cd_err err, const char *reason, const cd_answer *a)
{
    cd_wh_l1_watch *w = ctx;
    standing now;
    (void)reason;
    w->call = NULL;
    if (err == CD_OK && cd_answer_is_unknown(a)) {
        cd_log_info(w->cfg.log, "the node tells nothing of the L1's health", CD_F("chain", w->cfg.chain));
        return;
    }
    if (err == CD_OK && !a->is_error && read_standing(&now, a->result)) {
        tell(w, &now);
    }
    later(w);
}

static void on_net(void *ctx, cd_err err, const char *reason, const cd_answer *a)
{
    static const char primary[] = "11111111111111111111111111111111LpoYY";
    cd_wh_l1_watch *w = ctx;
    (void)reason;
    w->call = NULL;
    /* The families of networks differ in this word. */
    if (err == CD_OK && !a->is_error &&
        (take_word(w->net, ID_MAX, cd_json_get(a->result, "netID")) ||
         take_word(w->net, ID_MAX, cd_json_get(a->result, "subnetID")))) {
        if (strcmp(w->net, primary) != 0) {
            next(w);
        }
        return;
    }
    w->net[0] = '\0';
    later(w);
}

static void on_chain(void *ctx, cd_err err, const char *reason, const cd_answer *a)
{
    cd_wh_l1_watch *w = ctx;
    (void)reason;
    w->call = NULL;
    if (err == CD_OK && !a->is_error && take_word(w->chain_id, ID_MAX, cd_json_get(a->result, "blockchainID"))) {
        next(w);
        return;
    }
    w->chain_id[0] = '\0';
    later(w);
}

/* --- asking --- */

static void ask(cd_wh_l1_watch *w, cd_upstream *node, const char *method, const char *key, const char *value,
                cd_call_fn *fn)
{
    cd_arena_reset(&w->mem);
    const cd_ask a = {.method = method, .params = cd_arena_fmt(&w->mem, "[{\"%s\":\"%s\"}]", key, value)};
    w->call = cd_call_new(node, &w->mem, &a, 1, 0, fn, w);
}

static void next(cd_wh_l1_watch *w)
{
    if (w->chain_id[0] == '\0') {
        ask(w, &w->info, "info.getBlockchainID", "alias", w->name, on_chain);
    } else if (w->net[0] == '\0') {
        ask(w, &w->platform, "platform.validatedBy", "blockchainID", w->chain_id, on_net);
    } else {
        ask(w, &w->platform, "platform.getL1Health", "subnetID", w->net, on_health);
    }
}

static void on_again(void *ctx)
{
    next(ctx);
}

/* --- life --- */

/* "http://host/ext/bc/NAME/rpc": base "http://host/ext", name. */
static bool read_url(const char **base, const char **name, cd_arena *mem, const char *url)
{
    static const char *const primary[] = {"P", "X", "C"};
    const char *bc = strstr(url, "/bc/");
    usize n = bc == NULL ? 0 : strcspn(bc + 4, "/?#");
    for (usize i = 0; i < n; i++) {
        char c = bc[4 + i];
        if (c == '"' || c == '\\' || c < 0x21 || c > 0x7e) {
            return false;
        }
    }
    if (n == 0 || n > ID_MAX) {
        return false;
    }
    *base = cd_arena_str(mem, cd_bytes_of(url, (usize)(bc - url)));
    *name = cd_arena_str(mem, cd_bytes_of(bc + 4, n));
    for (usize i = 0; i < CD_COUNT(primary); i++) {
        if (strcmp(*name, primary[i]) == 0) {
            return false;
        }
    }
    return true;
}

void cd_wh_l1_watch_new(cd_wh_l1_watch **out, cd_loop *loop, const cd_wh_l1_cfg *cfg)
{
    const char *base;
    cd_wh_l1_watch *w = cd_new(cd_wh_l1_watch);
    *w = (cd_wh_l1_watch){.cfg = *cfg};
    *out = NULL;
    if (!read_url(&base, &w->name, &w->place, cfg->http_url)) {
        cd_wh_l1_watch_free(w);
        return;
    }
    w->info =
        (cd_upstream){.http = cfg->http, .url = cd_arena_fmt(&w->place, "%s/info", base), .answer_max = ANSWER_MAX};
    w->platform =
        (cd_upstream){.http = cfg->http, .url = cd_arena_fmt(&w->place, "%s/bc/P", base), .answer_max = ANSWER_MAX};
    w->again = cd_timer_new(loop, on_again, w);
    *out = w;
    next(w);
}

void cd_wh_l1_watch_stop(cd_wh_l1_watch *w)
{
    if (w != NULL) {
        cd_call_cancel(w->call);
        w->call = NULL;
        cd_timer_free(w->again);
        w->again = NULL;
    }
}

void cd_wh_l1_watch_free(cd_wh_l1_watch *w)
{
    if (w != NULL) {
        cd_wh_l1_watch_stop(w);
        cd_arena_fini(&w->place);
        cd_arena_fini(&w->mem);
        cd_free(w);
    }
}
