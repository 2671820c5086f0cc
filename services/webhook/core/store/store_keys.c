#include "base/mem/secret.h"
#include "services/common/keys.h"
#include "services/webhook/core/store/store_priv.h"

static void project_row(cd_wh_project *out, cd_sql_stmt *st, cd_arena *mem)
{
    *out = (cd_wh_project){
        .id = cd_sql_col_str(st, 0, mem),
        .name = cd_sql_col_str(st, 1, mem),
        .tier = cd_sql_col_str(st, 2, mem),
        .email = cd_sql_col_str(st, 3, mem),
        .face = (cd_wh_face)cd_sql_col_i(st, 4),
        .quota_period = (cd_wh_period)cd_sql_col_i(st, 5),
        .quota = cd_sql_col_u(st, 6),
        .created_ms = cd_sql_col_u(st, 7),
    };
}

cd_err cd_wh_project_put(cd_wh_store *s, const cd_wh_project *p, cd_errinfo *why)
{
    return WH_RUN(s, PROJECT_PUT, why, cd_sql_t(p->id), cd_sql_t(p->name), cd_sql_t(p->tier), cd_sql_t(p->email),
                  cd_sql_i(p->face), cd_sql_i(p->quota_period), cd_sql_u(p->quota), cd_sql_u(p->created_ms));
}

cd_err cd_wh_project_get(cd_wh_store *s, cd_wh_project *out, cd_arena *mem, const char *id, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_ONE(s, &st, PROJECT_GET, why, cd_sql_t(id)));
    project_row(out, st, mem);
    return CD_OK;
}

cd_err cd_wh_project_list(cd_wh_store *s, cd_wh_project **out, usize *cnt, cd_arena *mem, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf rows = {0};
    cd_wh_project p;
    cd_err err = cd__wh_query(s, &st, CD__WH_PROJECT_LIST, NULL, 0, why);
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row) {
            break;
        }
        project_row(&p, st, mem);
        cd_buf_put(&rows, cd_bytes_of(&p, sizeof p));
    }
    return cd__wh_rows((void **)out, cnt, mem, &rows, sizeof p, err);
}

cd_err cd__wh_project_key(cd_wh_store *s, i64 *key, const char *id, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    CD_TRY(WH_ONE(s, &st, PROJECT_KEY, why, cd_sql_t(id)));
    *key = cd_sql_col_i(st, 0);
    return CD_OK;
}

static void key_row(cd_wh_key *out, cd_sql_stmt *st, cd_arena *mem)
{
    *out = (cd_wh_key){
        .id = cd_sql_col_str(st, 0, mem),
        .project = cd_sql_col_str(st, 1, mem),
        .label = cd_sql_col_str(st, 2, mem),
        .last4 = cd_sql_col_str(st, 3, mem),
        .may_write = cd_sql_col_i(st, 4) != 0,
        .created_ms = cd_sql_col_u(st, 5),
        .expires_ms = cd_sql_col_u(st, 6),
        .revoked_ms = cd_sql_col_u(st, 7),
        .used_ms = cd_sql_col_u(st, 8),
    };
}

cd_err cd_wh_key_make(cd_wh_store *s, cd_wh_key *out, char text[48], cd_arena *mem, const cd_wh_key *init,
                      cd_errinfo *why)
{
    cd_rng rng = cd_rng_os();
    char key[CD_KEY_TEXT + 1];
    char id[CD_KEY_ID + 1];
    cd_hash32 hash;
    i64 project = 0;
    CD_TRY(cd__wh_project_key(s, &project, init->project, why));
    cd_key_make(key, id, &rng);
    CD_TRY(cd_key_hash(&hash, cd_bytes_of(key, CD_KEY_TEXT), s->salt));
    cd_wh_key made = {
        .id = cd_arena_fmt(mem, "%s", id),
        .project = init->project,
        .label = init->label,
        .last4 = cd_arena_fmt(mem, "%s", key + CD_KEY_TEXT - 4),
        .may_write = init->may_write,
        .created_ms = cd__wh_now(s),
        .expires_ms = init->expires_ms,
    };
    CD_TRY(WH_RUN(s, KEY_ADD, why, cd_sql_t(made.id), cd_sql_i(project), cd_sql_t(made.label), cd_sql_t(made.last4),
                  cd_sql_i(made.may_write), cd_sql_b(cd_bytes_of(hash.b, sizeof hash.b)), cd_sql_u(made.created_ms),
                  cd_sql_u(made.expires_ms)));
    memcpy(text, key, sizeof key);
    cd_wipe(key, sizeof key);
    *out = made;
    return CD_OK;
}

cd_err cd_wh_key_find(cd_wh_store *s, cd_wh_key *key, cd_wh_project *project, cd_arena *mem, cd_bytes text,
                      cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_hash32 hash;
    cd_wh_key found;
    if (cd_key_hash(&hash, text, s->salt) != CD_OK) {
        return cd_fail(why, CD_ENOENT, "that is no key");
    }
    CD_TRY(WH_ONE(s, &st, KEY_FIND, why, cd_sql_b(cd_bytes_of(hash.b, sizeof hash.b))));
    cd_bytes stored = cd_sql_col_b(st, 9);
    key_row(&found, st, mem);
    if (!cd_key_is_good(stored, &hash, found.revoked_ms, found.expires_ms, cd__wh_now(s))) {
        return cd_fail(why, CD_ENOENT, "the key is revoked or expired");
    }
    CD_TRY(cd_wh_project_get(s, project, mem, found.project, why));
    *key = found;
    return CD_OK;
}

cd_err cd_wh_key_list(cd_wh_store *s, cd_wh_key **out, usize *cnt, cd_arena *mem, const char *project, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    cd_buf rows = {0};
    cd_wh_key k;
    cd_err err = WH_QUERY(s, &st, KEY_LIST, why, cd_sql_t(project));
    for (bool is_row = true; err == CD_OK;) {
        err = cd_sql_next(st, &is_row, why);
        if (err != CD_OK || !is_row) {
            break;
        }
        key_row(&k, st, mem);
        cd_buf_put(&rows, cd_bytes_of(&k, sizeof k));
    }
    return cd__wh_rows((void **)out, cnt, mem, &rows, sizeof k, err);
}

cd_err cd_wh_key_revoke(cd_wh_store *s, const char *project, const char *id, cd_errinfo *why)
{
    cd_sql_stmt *st = NULL;
    return WH_ONE(s, &st, KEY_REVOKE, why, cd_sql_t(project), cd_sql_t(id), cd_sql_u(cd__wh_now(s)));
}

cd_err cd_wh_key_used(cd_wh_store *s, const char *id, u64 at_ms, cd_errinfo *why)
{
    return WH_RUN(s, KEY_USED, why, cd_sql_t(id), cd_sql_u(at_ms));
}
