#define _GNU_SOURCE /* memmem */
#include "services/webhook/core/store/records.h"

#include "services/webhook/core/store/seal.h"
#include "services/webhook/core/store/store_priv.h"

#include <stdio.h>

#define KEPT_MS ((u64)86400000)

/* --- answers of idempotent calls --- */

cd_err cd_wh_kept_get(cd_wh_store *s, cd_wh_kept *out, cd_arena *mem, const char *project, cd_bytes key,
                      cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_wh_kept k = {0};
    CD_TRY(WH_ONE(s, &st, KEPT_GET, why, cd_sql_t(project), cd_sql_b(key), cd_sql_u(cd__wh_now(s) - KEPT_MS)));
    cd_bytes request = cd_sql_col_b(st, 0);
    if (request.n != sizeof k.request) {
        return cd_fail(why, CD_ECORRUPT, "a kept answer is damaged");
    }
    memcpy(k.request, request.p, sizeof k.request);
    k.status = (u32)cd_sql_col_u(st, 1);
    k.at_ms = cd_sql_col_u(st, 3);
    CD_TRY(cd_wh_unseal(&k.body, mem, s->master_key, cd_sql_col_b(st, 2), "answer", why));
    *out = k;
    return CD_OK;
}

cd_err cd_wh_kept_put(cd_wh_store *s, const cd_wh_kept *kept, const char *project, cd_bytes key, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_sql_stmt *st = NULL;
    bool is_row = false;
    cd_err err = WH_QUERY(s, &st, KEPT_PUT, why, cd_sql_t(project), cd_sql_b(key),
                          cd_sql_b(cd_bytes_of(kept->request, sizeof kept->request)), cd_sql_i(kept->status),
                          cd_sql_b(cd_wh_seal(&mem, s->master_key, kept->body, "answer")), cd_sql_u(kept->at_ms),
                          cd_sql_u(kept->at_ms - KEPT_MS));
    if (err == CD_OK) {
        err = cd_sql_next(st, &is_row, why);
    }
    if (err == CD_OK && !is_row) {
        err = cd_fail(why, CD_EEXIST, "the key has an answer already");
    }
    cd_arena_fini(&mem);
    return err;
}

/* --- audit --- */

cd_err cd_wh_audit_add(cd_wh_store *s, const cd_wh_audit *a, cd_errinfo *why)
{
    return WH_RUN(s, AUDIT_ADD, why, cd_sql_u(a->at_ms), cd_sql_t(a->project), cd_sql_t(a->actor), cd_sql_t(a->action),
                  cd_sql_t(a->target), cd_sql_t(a->address));
}

cd_err cd_wh_audit_list(cd_wh_store *s, cd_wh_audit **out, usize *cnt, cd_arena *mem, const char *project, i64 before,
                        u32 limit, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf rows = {0};
    cd_err err = WH_QUERY(s, &st, AUDIT_LIST, why, cd_sql_t(project), cd_sql_i(before > 0 ? before : INT64_MAX),
                          cd_sql_i(limit));
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row) {
            break;
        }
        const cd_wh_audit a = {
            .key = cd_sql_col_i(st, 0),
            .at_ms = cd_sql_col_u(st, 1),
            .project = cd_sql_col_str(st, 2, mem),
            .actor = cd_sql_col_str(st, 3, mem),
            .action = cd_sql_col_str(st, 4, mem),
            .target = cd_sql_col_str(st, 5, mem),
            .address = cd_sql_col_str(st, 6, mem),
        };
        cd_buf_put(&rows, cd_bytes_of(&a, sizeof a));
    }
    return cd__wh_rows((void **)out, cnt, mem, &rows, sizeof **out, err);
}

/* --- mails --- */

cd_err cd_wh_mail_put(cd_wh_store *s, const cd_letter *m, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    bool is_row = false;
    CD_TRY(WH_QUERY(s, &st, MAIL_PUT, why, cd_sql_t(m->to), cd_sql_t(m->subject), cd_sql_t(m->body), cd_sql_t(m->once),
                    cd_sql_u(m->next_ms), cd_sql_u(m->created_ms)));
    CD_TRY(cd_sql_next(st, &is_row, why));
    return is_row ? CD_OK : cd_fail(why, CD_EEXIST, "such a mail was queued before");
}

cd_err cd_wh_mail_claim(cd_wh_store *s, cd_letter **out, usize *cnt, cd_arena *mem, u64 now_ms, u64 lease_ms, u32 max,
                        cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf rows = {0};
    cd_letter m;
    cd_err err = WH_QUERY(s, &st, MAIL_DUE, why, cd_sql_u(now_ms), cd_sql_i(max));
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row) {
            break;
        }
        m = (cd_letter){
            .key = cd_sql_col_i(st, 0),
            .to = cd_sql_col_str(st, 1, mem),
            .subject = cd_sql_col_str(st, 2, mem),
            .body = cd_sql_col_str(st, 3, mem),
            .once = cd_sql_col_str(st, 4, mem),
            .attempts = (u32)cd_sql_col_u(st, 5),
            .next_ms = cd_sql_col_u(st, 6),
            .created_ms = cd_sql_col_u(st, 7),
        };
        cd_buf_put(&rows, cd_bytes_of(&m, sizeof m));
    }
    for (usize at = 0; at < rows.n && err == CD_OK; at += sizeof m) {
        memcpy(&m, rows.p + at, sizeof m);
        err = WH_RUN(s, MAIL_LEASE, why, cd_sql_i(m.key), cd_sql_u(now_ms + lease_ms));
    }
    return cd__wh_rows((void **)out, cnt, mem, &rows, sizeof m, err);
}

cd_err cd_wh_mail_settle(cd_wh_store *s, i64 key, u64 next_ms, cd_errinfo *why)
{
    return WH_RUN(s, MAIL_SETTLE, why, cd_sql_i(key), next_ms == 0 ? cd_sql_null() : cd_sql_u(next_ms));
}

/* --- tokens --- */

cd_err cd_wh_token_get(cd_wh_store *s, cd_wh_token *out, cd_arena *mem, const char *chain, const cd_addr20 *address,
                       cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_ONE(s, &st, TOKEN_GET, why, cd_sql_t(chain), cd_sql_b(cd_bytes_of(address->b, sizeof address->b))));
    *out = (cd_wh_token){
        .symbol = cd_sql_col_is_null(st, 0) ? NULL : cd_sql_col_str(st, 0, mem),
        .name = cd_sql_col_is_null(st, 1) ? NULL : cd_sql_col_str(st, 1, mem),
        .decimals = (i32)cd_sql_col_i(st, 2),
    };
    return CD_OK;
}

cd_err cd_wh_token_put(cd_wh_store *s, const cd_wh_token *t, const char *chain, const cd_addr20 *address,
                       cd_errinfo *why)
{
    return WH_RUN(s, TOKEN_PUT, why, cd_sql_t(chain), cd_sql_b(cd_bytes_of(address->b, sizeof address->b)),
                  t->symbol == NULL ? cd_sql_null() : cd_sql_t(t->symbol),
                  t->name == NULL ? cd_sql_null() : cd_sql_t(t->name), cd_sql_i(t->decimals));
}

/* --- settings --- */

cd_err cd_wh_setting_get(cd_wh_store *s, cd_bytes *out, cd_arena *mem, const char *project, const char *name,
                         cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_ONE(s, &st, SETTING_GET, why, cd_sql_t(project), cd_sql_t(name)));
    *out = cd_sql_col_dup(st, 0, mem);
    return CD_OK;
}

cd_err cd_wh_setting_put(cd_wh_store *s, cd_bytes value, const char *project, const char *name, cd_errinfo *why)
{
    return WH_RUN(s, SETTING_PUT, why, cd_sql_t(project), cd_sql_t(name), cd_sql_b(value));
}

/* --- sessions of the dashboard --- */

static const char session_prefix[] = "session/";

cd_err cd_wh_session_end(cd_wh_store *s, const char *name, u64 now_s, cd_errinfo *why)
{
    char own[64];
    char oldest[64];
    (void)snprintf(own, sizeof own, "%s%.40s", session_prefix, name);
    (void)snprintf(oldest, sizeof oldest, "%s%016llx", session_prefix, (unsigned long long)now_s);
    CD_TRY(WH_RUN(s, SETTING_CUT, why, cd_sql_t(""), cd_sql_t(session_prefix), cd_sql_t(oldest)));
    return cd_wh_setting_put(s, cd_bytes_str("over"), "", own, why);
}

cd_err cd_wh_session_is_over(cd_wh_store *s, bool *is_over, const char *name, cd_errinfo *why)
{
    char own[64];
    cd_arena mem = {0};
    cd_bytes word;
    (void)snprintf(own, sizeof own, "%s%.40s", session_prefix, name);
    cd_err err = cd_wh_setting_get(s, &word, &mem, "", own, why);
    cd_arena_fini(&mem);
    *is_over = err == CD_OK;
    return err == CD_ENOENT ? CD_OK : err;
}

/* --- certificates of webhooks --- */

static const char *client_name(cd_arena *mem, const cd_wh_hook *hook)
{
    return cd_arena_fmt(mem, "client/%lld", (long long)hook->key);
}

static const char *client_seal(cd_arena *mem, const cd_wh_hook *hook)
{
    return cd_arena_fmt(mem, "client of %s", hook->id);
}

cd_err cd_wh_client_put(cd_wh_store *s, const cd_wh_hook *hook, cd_errinfo *why)
{
    cd_arena mem = {0};
    cd_bytes sealed =
        hook->client.n == 0 ? hook->client : cd_wh_seal(&mem, s->master_key, hook->client, client_seal(&mem, hook));
    cd_err err = cd_wh_setting_put(s, sealed, hook->project, client_name(&mem, hook), why);
    cd_arena_fini(&mem);
    return err;
}

cd_err cd_wh_client_get(cd_wh_store *s, cd_wh_hook *hook, cd_arena *mem, cd_errinfo *why)
{
    static const char key[] = "\"client_certificate\"";
    cd_bytes sealed = {0};
    if (hook->settings.n == 0 || memmem(hook->settings.p, hook->settings.n, key, sizeof key - 1) == NULL) {
        return CD_OK;
    }
    cd_err err = cd_wh_setting_get(s, &sealed, mem, hook->project, client_name(mem, hook), why);
    if (err == CD_ENOENT || (err == CD_OK && sealed.n == 0)) {
        return CD_OK;
    }
    CD_TRY(err);
    return cd_wh_unseal(&hook->client, mem, s->master_key, sealed, client_seal(mem, hook), why);
}
