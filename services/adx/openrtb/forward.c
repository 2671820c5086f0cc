#include "services/adx/openrtb/forward.h"

#include "base/num_text.h"

/* Writes a value, which may be changed on its way. */
typedef void put_fn(cd_json_w *w, cd_json v, const void *ctx);

static void put_plain(cd_json_w *w, cd_json v, const void *ctx)
{
    (void)ctx;
    cd_json_w_raw(w, (cd_bytes){0}); // the comma
    cd_json_raw(w->out, v);
}

/* A member that 2.6 has moved out of ext. */
typedef struct moved {
    const char *key;
    put_fn *put;
    bool is_made; /* it is written even where the request has none */
} moved;

typedef struct context {
    const cd_rtb_req *req;
    const cd_rtb_forward *f;
} context;

static bool is_one_of(cd_bytes key, const char *const *names, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_bytes_eq(key, cd_bytes_str(names[i]))) {
            return true;
        }
    }
    return false;
}

static bool is_moved(cd_bytes key, const moved *m, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_bytes_eq(key, cd_bytes_str(m[i].key))) {
            return true;
        }
    }
    return false;
}

static void put_member(cd_json_w *w, cd_bytes key, cd_json v)
{
    cd_json_w_key_str(w, key);
    put_plain(w, v, NULL);
}

static cd_json value_of(cd_json obj, const char *key)
{
    cd_json v = cd_json_get(obj, key);
    return cd_json_has(v) ? v : cd_json_get(cd_json_get(obj, "ext"), key);
}

static void put_moved(cd_json_w *w, cd_json obj, const moved *m, usize cnt, const context *c)
{
    for (usize i = 0; i < cnt; i++) {
        cd_json v = value_of(obj, m[i].key);
        if (cd_json_has(v) || m[i].is_made) {
            cd_json_w_key(w, m[i].key);
            m[i].put(w, v, c);
        }
    }
}

static bool has_moved(cd_json obj, const moved *m, usize cnt)
{
    for (usize i = 0; i < cnt; i++) {
        if (cd_json_has(value_of(obj, m[i].key)) || m[i].is_made) {
            return true;
        }
    }
    return false;
}

/* ext without what was moved, and with it for 2.5; nothing when nothing would be in it. */
static void put_ext(cd_json_w *w, cd_json obj, const moved *m, usize cnt, const context *c)
{
    cd_json ext = cd_json_get(obj, "ext");
    bool is_old = c->f->version == CD_RTB_25;
    bool is_empty = !(is_old && has_moved(obj, m, cnt));
    for (cd_json_it it = cd_json_iter(ext); is_empty && cd_json_next(&it);) {
        is_empty = is_moved(it.key, m, cnt);
    }
    if (is_empty) {
        return;
    }
    cd_json_w_key(w, "ext");
    cd_json_w_obj(w);
    for (cd_json_it it = cd_json_iter(ext); cd_json_next(&it);) {
        if (!is_moved(it.key, m, cnt)) {
            put_member(w, it.key, it.val);
        }
    }
    if (is_old) {
        put_moved(w, obj, m, cnt, c);
    }
    cd_json_w_obj_end(w);
}

static void put_owner(cd_json_w *w, const char *name, const moved *m, usize cnt, const context *c)
{
    cd_json obj = cd_json_get(c->req->json, name);
    if (!cd_json_has(obj) && !has_moved(obj, m, cnt)) {
        return;
    }
    cd_json_w_key(w, name);
    cd_json_w_obj(w);
    for (cd_json_it it = cd_json_iter(obj); cd_json_next(&it);) {
        if (!is_moved(it.key, m, cnt) && !cd_bytes_eq(it.key, cd_bytes_str("ext"))) {
            put_member(w, it.key, it.val);
        }
    }
    if (c->f->version != CD_RTB_25) {
        put_moved(w, obj, m, cnt, c);
    }
    put_ext(w, obj, m, cnt, c);
    cd_json_w_obj_end(w);
}

/* --- the supply chain --- */

static void put_node(cd_json_w *w, const context *c)
{
    cd_json_w_obj(w);
    cd_json_w_key(w, "asi");
    cd_json_w_cstr(w, c->f->asi);
    cd_json_w_key(w, "sid");
    cd_json_w_str(w, c->f->sid);
    cd_json_w_key(w, "rid");
    cd_json_w_str(w, c->req->id);
    cd_json_w_key(w, "hp");
    cd_json_w_u64(w, 1);
    cd_json_w_obj_end(w);
}

static void put_schain(cd_json_w *w, cd_json v, const void *ctx)
{
    const context *c = ctx;
    if (c->f->asi == NULL) {
        put_plain(w, v, NULL);
        return;
    }
    cd_json_w_obj(w);
    for (cd_json_it it = cd_json_iter(v); cd_json_next(&it);) {
        if (!cd_bytes_eq(it.key, cd_bytes_str("nodes"))) {
            put_member(w, it.key, it.val);
        }
    }
    if (!cd_json_has(v)) {
        cd_json_w_key(w, "complete");
        cd_json_w_u64(w, 1);
        cd_json_w_key(w, "ver");
        cd_json_w_cstr(w, "1.0");
    }
    cd_json_w_key(w, "nodes");
    cd_json_w_arr(w);
    for (cd_json_it it = cd_json_iter(cd_json_get(v, "nodes")); cd_json_next(&it);) {
        put_plain(w, it.val, NULL);
    }
    put_node(w, c);
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}

/* --- imps --- */

static const char rewarded[] = "is_rewarded_inventory";

static cd_json rewarded_of(cd_json imp)
{
    cd_json v = cd_json_get(imp, "rwdd");
    return cd_json_has(v) ? v : cd_json_get(cd_json_get(cd_json_get(imp, "ext"), "prebid"), rewarded);
}

static void put_prebid(cd_json_w *w, cd_json prebid, cd_json reward, bool is_old)
{
    cd_json_w_key(w, "prebid");
    cd_json_w_obj(w);
    for (cd_json_it it = cd_json_iter(prebid); cd_json_next(&it);) {
        if (!cd_bytes_eq(it.key, cd_bytes_str(rewarded))) {
            put_member(w, it.key, it.val);
        }
    }
    if (is_old) {
        put_member(w, cd_bytes_str(rewarded), reward);
    }
    cd_json_w_obj_end(w);
}

static void put_imp_ext(cd_json_w *w, cd_json ext, cd_json reward, bool is_old)
{
    cd_json_w_key(w, "ext");
    cd_json_w_obj(w);
    for (cd_json_it it = cd_json_iter(ext); cd_json_next(&it);) {
        if (!cd_bytes_eq(it.key, cd_bytes_str("prebid"))) {
            put_member(w, it.key, it.val);
        }
    }
    cd_json prebid = cd_json_get(ext, "prebid");
    usize others = cd_json_len(prebid) - (cd_json_has(cd_json_get(prebid, rewarded)) ? 1 : 0);
    if (is_old || others != 0) {
        put_prebid(w, prebid, reward, is_old);
    }
    cd_json_w_obj_end(w);
}

static void put_video(cd_json_w *w, cd_json v)
{
    static const char *const newer[] = {"podid", "podseq", "poddur", "rqddurs", "slotinpod", "mincpmpersec"};
    cd_json_w_obj(w);
    for (cd_json_it it = cd_json_iter(v); cd_json_next(&it);) {
        if (!is_one_of(it.key, newer, CD_COUNT(newer))) {
            put_member(w, it.key, it.val);
        }
    }
    cd_json_w_obj_end(w);
}

static void put_imp(cd_json_w *w, cd_json imp, bool is_old)
{
    static const char *const own[] = {"rwdd", "ext"};
    cd_json reward = rewarded_of(imp);
    cd_json ext = cd_json_get(imp, "ext");
    if (!is_old && (!cd_json_has(reward) || cd_json_has(cd_json_get(imp, "rwdd")))) {
        put_plain(w, imp, NULL);
        return;
    }
    cd_json_w_obj(w);
    for (cd_json_it it = cd_json_iter(imp); cd_json_next(&it);) {
        if (is_one_of(it.key, own, CD_COUNT(own)) || (is_old && cd_bytes_eq(it.key, cd_bytes_str("ssai")))) {
            continue;
        }
        if (is_old && cd_bytes_eq(it.key, cd_bytes_str("video"))) {
            cd_json_w_key(w, "video");
            put_video(w, it.val);
        } else {
            put_member(w, it.key, it.val);
        }
    }
    if (!cd_json_has(reward)) {
        if (cd_json_has(ext)) {
            put_member(w, cd_bytes_str("ext"), ext);
        }
    } else {
        if (!is_old) {
            put_member(w, cd_bytes_str("rwdd"), reward);
        }
        put_imp_ext(w, ext, reward, is_old);
    }
    cd_json_w_obj_end(w);
}

/* --- the request --- */

void cd_rtb_forward_put(cd_buf *out, const cd_rtb_req *req, const cd_rtb_forward *f)
{
    static const char *const own[] = {"tmax", "at", "imp", "source", "regs", "user"};
    static const char *const newer[] = {"wlangb", "dooh"};
    static const moved of_regs[] = {{"gdpr", put_plain, false}, {"us_privacy", put_plain, false}};
    static const moved of_user[] = {{"consent", put_plain, false}, {"eids", put_plain, false}};
    const moved of_source[] = {{"schain", put_schain, f->asi != NULL}};
    const context c = {.req = req, .f = f};
    bool is_old = f->version == CD_RTB_25;
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    for (cd_json_it it = cd_json_iter(req->json); cd_json_next(&it);) {
        if (!is_one_of(it.key, own, CD_COUNT(own)) && !(is_old && is_one_of(it.key, newer, CD_COUNT(newer)))) {
            put_member(&w, it.key, it.val);
        }
    }
    cd_json_w_key(&w, "imp");
    cd_json_w_arr(&w);
    for (usize i = 0; i < req->imps_cnt; i++) {
        put_imp(&w, req->imps[i].json, is_old);
    }
    cd_json_w_arr_end(&w);
    put_owner(&w, "source", of_source, CD_COUNT(of_source), &c);
    put_owner(&w, "regs", of_regs, CD_COUNT(of_regs), &c);
    put_owner(&w, "user", of_user, CD_COUNT(of_user), &c);
    cd_json_w_key(&w, "at");
    cd_json_w_i64(&w, f->at);
}

void cd_rtb_forward_end(cd_buf *out, i32 tmax)
{
    char text[CD_U64_TEXT_MAX];
    cd_buf_str(out, ",\"tmax\":");
    cd_buf_put(out, cd_bytes_of(text, cd_i64_fmt(text, tmax)));
    cd_buf_u8(out, '}');
}
