/* candela-webhooks keys, projects - what an operator does to the store, beside a running service or without one. */
#include "apps/webhooks/commands.h"
#include "base/os/clock.h"
#include "base/os/rng.h"
#include "base/table/list.h"
#include "net/smtp.h"
#include "services/webhook/core/names.h"
#include "services/webhook/core/store/db.h"

#include <stdio.h>

// clang-format off
#define OPTIONS(X)                                                                                                   \
    CD_STORE_OPTIONS(X)                                                                                              \
    X(OPT_VARIANT, .name = "variant", .type = CD_ARG_STR, .choices = "a|b|c", .meta = "V", .group = "Project",       \
      .help = "its interface; for a new project")                                                                    \
    X(OPT_PROJECT, .name = "project", .type = CD_ARG_STR, .meta = "NAME", .help = "made when there is none")         \
    X(OPT_TIER, .name = "tier", .type = CD_ARG_STR, .dflt = "free", .choices = "free|payg|growth|enterprise",        \
      .meta = "T", .help = "its limits")                                                                             \
    X(OPT_EMAIL, .name = "email", .type = CD_ARG_STR, .meta = "ADDR", .help = "where its mails go")                  \
    X(OPT_LABEL, .name = "label", .type = CD_ARG_STR, .dflt = "cli", .meta = "TEXT", .group = "Key",                 \
      .help = "what people see")                                                                                     \
    X(OPT_READ_ONLY, .name = "read-only", .type = CD_ARG_BOOL, .help = "it may not change anything")                 \
    X(OPT_EXPIRES, .name = "expires", .type = CD_ARG_DURATION, .meta = "TIME", .help = "from now; never when not given")
// clang-format on
enum { OPTIONS(CD_ARG_ID) OPT_CNT };
static const cd_arg_def options[] = {OPTIONS(CD_ARG_ROW)};

typedef struct task {
    cd_job job;
    const cd_args *args;
    const char *word; /* behind the verb */
    cd_arena mem;
    cd_buf out;
    u64 now_ms;
} task;

static void put_time(cd_buf *out, u64 ms)
{
    char text[CD_TIME_TEXT_LEN];
    if (ms == 0) {
        cd_buf_str(out, "-");
        return;
    }
    cd_time_fmt(text, ms * CD_NS_PER_MS);
    cd_buf_put(out, cd_bytes_of(text, 10));
}

/* What the free tiers include. */
static void set_quota(cd_wh_project *p)
{
    bool is_free = strcmp(p->tier, "free") == 0;
    p->quota_period = !is_free || p->face == CD_WH_B ? CD_WH_NO_QUOTA
                      : p->face == CD_WH_A           ? CD_WH_PER_MONTH
                                                     : CD_WH_PER_DAY;
    p->quota = 1000;
}

static cd_err find_project(task *t, cd_wh_store *s, cd_wh_project *out, cd_errinfo *why)
{
    const char *name = cd_args_str(t->args, OPT_PROJECT);
    cd_wh_project *list;
    usize cnt;
    if (name[0] == '\0') {
        return cd_fail(why, CD_EINVAL, "--project is wanted");
    }
    CD_TRY(cd_wh_project_list(s, &list, &cnt, &t->mem, why));
    for (usize i = 0; i < cnt; i++) {
        if (strcmp(list[i].name, name) == 0 || strcmp(list[i].id, name) == 0) {
            *out = list[i];
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

static cd_err check_email(const task *t, cd_errinfo *why)
{
    const char *email = cd_args_str(t->args, OPT_EMAIL);
    return email[0] == '\0' || cd_mail_is_address(email)
               ? CD_OK
               : cd_fail(why, CD_EINVAL, "--email must be one e-mail address, got \"%.60s\"", email);
}

static cd_err make_project(task *t, cd_wh_store *s, cd_wh_project *out, cd_errinfo *why)
{
    cd_rng rng = cd_rng_os();
    cd_wh_project p = {
        .id = cd_arena_fmt(&t->mem, "prj_%08llx", (unsigned long long)(cd_rng_u64(&rng) & 0xFFFFFFFF)),
        .name = cd_args_str(t->args, OPT_PROJECT),
        .tier = cd_args_str(t->args, OPT_TIER),
        .email = cd_args_str(t->args, OPT_EMAIL),
        .created_ms = t->now_ms,
    };
    if (cd_wh_face_of(&p.face, cd_bytes_str(cd_args_str(t->args, OPT_VARIANT))) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "there is no project \"%.60s\"; give --variant to make it", p.name);
    }
    set_quota(&p);
    CD_TRY(cd_wh_project_put(s, &p, why));
    *out = p;
    return CD_OK;
}

/* What was said about a project that is there already must be true. */
static cd_err check_project(const task *t, const cd_wh_project *p, cd_errinfo *why)
{
    const char *face = cd_args_str(t->args, OPT_VARIANT);
    if (face[0] != '\0' && strcmp(face, cd_wh_face_name(p->face)) != 0) {
        return cd_fail(why, CD_EEXIST, "project \"%.60s\" is of variant %s", p->name, cd_wh_face_name(p->face));
    }
    if (cd_args_source(t->args, OPT_TIER) != CD_ARG_FROM_DEFAULT &&
        strcmp(cd_args_str(t->args, OPT_TIER), p->tier) != 0) {
        return cd_fail(why, CD_EEXIST, "project \"%.60s\" is of tier %s; projects set changes it", p->name, p->tier);
    }
    return CD_OK;
}

static cd_err keys_create(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    task *t = cd_list_of(job, task, job);
    cd_wh_project p;
    cd_wh_key made;
    char text[48];
    u64 expires = cd_args_u64(t->args, OPT_EXPIRES) / CD_NS_PER_MS;
    CD_TRY(check_email(t, why));
    cd_err err = find_project(t, s, &p, why);
    if (err == CD_ENOENT) {
        err = make_project(t, s, &p, why);
    } else if (err == CD_OK) {
        err = check_project(t, &p, why);
    }
    CD_TRY(err);
    const cd_wh_key init = {
        .project = p.id,
        .label = cd_args_str(t->args, OPT_LABEL),
        .may_write = !cd_args_bool(t->args, OPT_READ_ONLY),
        .expires_ms = expires == 0 ? 0 : t->now_ms + expires,
    };
    CD_TRY(cd_wh_key_make(s, &made, text, &t->mem, &init, why));
    cd_buf_fmt(&t->out, "%s\n", text);
    return CD_OK;
}

static cd_err keys_list(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    task *t = cd_list_of(job, task, job);
    cd_wh_project p;
    cd_wh_key *keys;
    usize cnt;
    cd_err err = find_project(t, s, &p, why);
    if (err == CD_ENOENT) {
        return cd_fail(why, CD_ENOENT, "there is no such project");
    }
    CD_TRY(err);
    CD_TRY(cd_wh_key_list(s, &keys, &cnt, &t->mem, p.id, why));
    cd_buf_fmt(&t->out, "%-16s  %-8s  %-5s  %-10s  %-10s  %s\n", "ID", "KEY", "MAY", "MADE", "REVOKED", "LABEL");
    for (usize i = 0; i < cnt; i++) {
        cd_buf_fmt(&t->out, "%-16s  sk_…%-4s  %-5s  ", keys[i].id, keys[i].last4, keys[i].may_write ? "write" : "read");
        put_time(&t->out, keys[i].created_ms);
        cd_buf_str(&t->out, "  ");
        put_time(&t->out, keys[i].revoked_ms);
        cd_buf_fmt(&t->out, "%s  %s\n", keys[i].revoked_ms == 0 ? "         " : "", keys[i].label);
    }
    return CD_OK;
}

static cd_err keys_revoke(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    task *t = cd_list_of(job, task, job);
    cd_wh_project p;
    cd_err err = find_project(t, s, &p, why);
    if (err == CD_OK && t->word != NULL) {
        err = cd_wh_key_revoke(s, p.id, t->word, why);
    }
    if (err == CD_ENOENT || (err == CD_OK && t->word == NULL)) {
        return cd_fail(why, CD_ENOENT, "give --project and the id of one of its keys");
    }
    CD_TRY(err);
    cd_buf_fmt(&t->out, "revoked %s\n", t->word);
    return CD_OK;
}

static cd_err projects_list(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    task *t = cd_list_of(job, task, job);
    cd_wh_project *list;
    usize cnt;
    CD_TRY(cd_wh_project_list(s, &list, &cnt, &t->mem, why));
    cd_buf_fmt(&t->out, "%-14s  %-7s  %-10s  %-10s  %s\n", "ID", "VARIANT", "TIER", "MADE", "NAME");
    for (usize i = 0; i < cnt; i++) {
        cd_buf_fmt(&t->out, "%-14s  %-7s  %-10s  ", list[i].id, cd_wh_face_name(list[i].face), list[i].tier);
        put_time(&t->out, list[i].created_ms);
        cd_buf_fmt(&t->out, "  %s\n", list[i].name);
    }
    return CD_OK;
}

static cd_err projects_set(cd_job *job, void *store, cd_errinfo *why)
{
    cd_wh_store *s = store;
    task *t = cd_list_of(job, task, job);
    cd_wh_project p;
    CD_TRY(check_email(t, why));
    cd_err err = find_project(t, s, &p, why);
    if (err == CD_ENOENT) {
        return cd_fail(why, CD_ENOENT, "there is no such project");
    }
    CD_TRY(err);
    if (cd_args_source(t->args, OPT_TIER) != CD_ARG_FROM_DEFAULT) {
        p.tier = cd_args_str(t->args, OPT_TIER);
        set_quota(&p);
    }
    if (cd_args_source(t->args, OPT_EMAIL) != CD_ARG_FROM_DEFAULT) {
        p.email = cd_args_str(t->args, OPT_EMAIL);
    }
    CD_TRY(cd_wh_project_put(s, &p, why));
    cd_buf_fmt(&t->out, "%s is %s\n", p.name, p.tier);
    return CD_OK;
}

typedef struct verb {
    const char *name;
    cd_err (*run)(cd_job *job, void *store, cd_errinfo *why);
    bool makes; /* the store, when there is none yet */
} verb;

static int run(const cd_cmd_info *info, const verb *verbs, usize verbs_cnt, int argc, char **argv)
{
    int code = 0;
    const char *const *words;
    cd_errinfo why = {0};
    u8 master_key[32];
    cd_wh_store_cfg cfg;
    const verb *found = NULL;
    cd_args *args = cd_cmd_args(info, &code, argc, argv);
    if (args == NULL) {
        return code;
    }
    usize cnt = cd_args_words(args, &words);
    for (usize i = 0; cnt != 0 && i < verbs_cnt; i++) {
        if (strcmp(words[0], verbs[i].name) == 0) {
            found = &verbs[i];
        }
    }
    task t = {.args = args, .word = cnt > 1 ? words[1] : NULL};
    t.now_ms = cd_clock_wall_ns(cd_clock_real()) / CD_NS_PER_MS;
    cd_err err = found != NULL ? CD_OK : cd_fail(&why, CD_EINVAL, "usage: %s", info->usage);
    if (err != CD_OK) {
        code = cd_cmd_fail(info->program, &why, 2);
    } else {
        t.job.run = found->run;
        err = cd_store_cfg(&cfg, master_key, &t.mem, args, OPT_DATA_DIR, !found->makes, &why);
        if (err == CD_OK) {
            err = cd_wh_db_now(&cfg, &t.job, &why);
        }
        code = err == CD_OK ? 0 : cd_cmd_fail(info->program, &why, err == CD_EINVAL ? 2 : 1);
    }
    if (code == 0) {
        (void)fputs(cd_buf_cstr(&t.out), stdout);
    }
    cd_buf_fini(&t.out);
    cd_arena_fini(&t.mem);
    cd_args_free(args);
    return code;
}

int cd_cmd_keys(int argc, char **argv)
{
    static const verb verbs[] = {
        {"create", keys_create, true}, {"list", keys_list, false}, {"revoke", keys_revoke, false}};
    static const cd_cmd_info info = {
        .program = "candela-webhooks keys",
        .purpose = "API keys of projects; a new one is shown this once",
        .usage = "candela-webhooks keys create|list|revoke [ID] --project=NAME",
        .example = "candela-webhooks keys create --variant=b --project=harbour --tier=payg",
        .options = options,
        .options_cnt = OPT_CNT,
        .words_max = 2,
    };
    return run(&info, verbs, CD_COUNT(verbs), argc, argv);
}

int cd_cmd_projects(int argc, char **argv)
{
    static const verb verbs[] = {{"list", projects_list, false}, {"set", projects_set, false}};
    static const cd_cmd_info info = {
        .program = "candela-webhooks projects",
        .purpose = "projects and their limits",
        .usage = "candela-webhooks projects list|set --project=NAME",
        .example = "candela-webhooks projects set --project=harbour --tier=growth",
        .options = options,
        .options_cnt = OPT_CNT,
        .words_max = 1,
    };
    return run(&info, verbs, CD_COUNT(verbs), argc, argv);
}
