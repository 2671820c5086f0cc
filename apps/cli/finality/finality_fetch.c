#include "finality/finality_fetch.h"

#include "base/hex.h"
#include "codec/json.h"
#include "remote/remote.h"

static bool is_digits(const char *s)
{
    usize n = 0;
    while (s[n] >= '0' && s[n] <= '9') {
        n++;
    }
    return n != 0 && n <= 20 && s[n] == '\0';
}

bool cd__fin_query_parse(cd__fin_query *out, cd_arena *mem, const char *word)
{
    const char *slash = strchr(word, '/');
    if (slash == NULL || slash == word) {
        return false;
    }
    cd_bytes id = cd_bytes_str(slash + 1);
    out->chain = cd_arena_str(mem, cd_bytes_of(word, (usize)(slash - word)));
    out->height = is_digits(slash + 1) ? slash + 1 : NULL;
    if (out->height != NULL) {
        return true;
    }
    if (id.n == 66 && id.p[0] == '0' && id.p[1] == 'x') {
        return cd_hex_parse(out->block.b, cd_bytes_sub(id, 2, 64)) == CD_OK;
    }
    return cd_id_parse(&out->block, id, NULL) == CD_OK;
}

static cd_err ask(cd_bytes *out, cd__remote *r, cd_arena *mem, const char *method, const cd_buf *params,
                  const char *member, cd_errinfo *why)
{
    cd_json v;
    CD_TRY(cd__remote_ask(r, &v, "/ext/info", method, cd_arena_str(mem, cd_buf_bytes(params)), why));
    return cd_json_hex(out, mem, cd_json_get(v, member), NULL) == CD_OK
               ? CD_OK
               : cd_fail(why, CD_EPROTO, "%s: the node's answer has no \"%s\" of hexadecimal digits", method, member);
}

static cd_err ask_both(cd_bytes *cert, cd_bytes *changes, cd__remote *r, cd_arena *mem, const cd__fin_query *q,
                       u64 epoch, cd_errinfo *why)
{
    cd_buf params = {0};
    cd_json_w w = {.out = &params};
    cd_json_w_obj(&w);
    cd_json_put_cstr(&w, "chain", q->chain);
    if (q->height != NULL) {
        cd_json_put_cstr(&w, "height", q->height);
    } else {
        cd_json_put_hash(&w, "blockID", &q->block);
    }
    cd_json_w_obj_end(&w);
    cd_err e = ask(cert, r, mem, "info.getFinalityCertificate", &params, "certificate", why);
    cd_buf_clear(&params);
    cd_buf_fmt(&params, "{\"epoch\":\"%llu\"}", (unsigned long long)epoch);
    e = e != CD_OK ? e : ask(changes, r, mem, "info.getFinalityChanges", &params, "changes", why);
    cd_buf_fini(&params);
    return e;
}

cd_err cd__fin_fetch(cd_bytes *cert, cd_bytes *changes, cd_arena *mem, const char *url, const cd__fin_query *q,
                     u64 epoch, cd_errinfo *why)
{
    cd__remote *r = NULL;
    CD_TRY(cd__remote_new(&r, mem, url, why));
    cd_err e = ask_both(cert, changes, r, mem, q, epoch, why);
    cd__remote_free(r);
    return e;
}
