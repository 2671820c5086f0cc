/* Webhooks: make, list, get, change, delete, secrets, addresses. */
#include "services/webhook/api/call.h"
#include "services/webhook/api/mask.h"
#include "services/webhook/api/ops.h"

#define FROM_BLOCK_MAX ((u64)1 << 53)
enum { LIMIT_DFLT = 25, LIMIT_MAX = 100, GRACE_DFLT_S = 86400, GRACE_MAX_S = 30 * 86400 };

static void put_warnings(cd__wapi_call *c, cd_json_w *w)
{
    if (c->read.warnings_cnt == 0) {
        return;
    }
    cd_json_w_key(w, "warnings");
    cd_json_w_arr(w);
    for (usize i = 0; i < c->read.warnings_cnt; i++) {
        cd_json_w_cstr(w, c->read.warnings[i]);
    }
    cd_json_w_arr_end(w);
}

static void answer_record(cd__wapi_call *c, u32 show)
{
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    if (!c->account.key.may_write) {
        cd_wh_mask_hook(&c->mem, &c->hook);
    }
    c->face->record(&w, &c->hook, show, &c->mem);
    if ((show & CD_WH_SHOW_STANDARD) != 0) {
        cd_wh_w_standard(&w, &c->hook, c->hook.secret, &c->mem);
    }
    if (c->draft.ops_is == CD_WH_OPS_MADE) {
        cd_json_w_key(&w, "ops_secret");
        cd_json_w_str(&w, c->draft.ops.secret);
    }
    put_warnings(c, &w);
    cd_json_w_obj_end(&w);
}

/* --- make --- */

static cd_err create_prepare(cd__wapi_call *c)
{
    u64 from;
    cd_json v = cd_json_get(c->body, "from_block");
    CD_TRY(c->face->create(&c->read, &c->draft, c->body));
    if (cd_json_has(v)) {
        if (cd_json_kind_of(v) != CD_JSON_NUM || cd_json_u64(&from, v, NULL) != CD_OK || from > FROM_BLOCK_MAX) {
            return cd_wh_bad_shape(&c->read, "int_type", "from_block", "must be a block number");
        }
        c->draft.hook.from_block = from == 0 ? 1 : from; // 0: from now on
    }
    cd_wh_op_from_now(c->api->cfg.engine, &c->draft.hook);
    c->check_url = c->draft.hook.url;
    c->check_ops = c->draft.ops_url;
    return CD_OK;
}

static cd_err create_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    const cd_wh_tier *tier = cd_wh_tier_of(c->account.project.tier);
    cd_err err =
        cd_wh_op_create(s, &c->draft, &c->account.project, tier->webhooks, cd__wapi_now_ms(c->api), &c->mem, why);
    if (err == CD_EFULL) {
        return cd__wapi_refuse(c, 403, "webhook_limit_reached", "", "the %s tier has at most %u webhooks", tier->name,
                               tier->webhooks);
    }
    CD_TRY(err);
    c->hook = c->draft.hook;
    c->status = 201;
    c->changed = true;
    answer_record(c, CD_WH_SHOW_SECRET | CD_WH_SHOW_STANDARD);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_CREATE = {.prepare = create_prepare, .run = create_run};

/* --- list --- */

static cd_err read_status(cd__wapi_call *c, cd_wh_hook_query *q)
{
    const char *text = cd__wapi_query(c, "status");
    q->status = -1;
    if (text == NULL) {
        return CD_OK;
    }
    for (int i = CD_WH_ACTIVE; i <= CD_WH_DISABLED; i++) {
        if (strcmp(text, cd_wh_status_name(cd__wapi_face(c), (cd_wh_status)i)) == 0) {
            q->status = i;
            /* what A and C call by one word is stored as the last of the two */
            if (cd__wapi_face(c) == CD_WH_B || i == CD_WH_ACTIVE) {
                return CD_OK;
            }
        }
    }
    if (q->status < 0) {
        return cd__wapi_refuse(c, 400, "invalid_value", "status", "%.40s is no status", text);
    }
    return CD_OK;
}

static cd_err list_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_face face = cd__wapi_face(c);
    u64 page = 1;
    u64 limit = LIMIT_DFLT;
    u64 total;
    cd_wh_hook *hooks;
    usize cnt;
    cd_wh_type type;
    cd_wh_hook_query q = {.project = c->account.project.id};
    const char *type_name = cd__wapi_query(c, "event_type");
    CD_TRY(cd__wapi_query_u64(c, &page, "page", 1, 1 << 20));
    CD_TRY(cd__wapi_query_u64(c, &limit, "limit", 1, LIMIT_MAX));
    CD_TRY(cd__wapi_cursor(c, &q.before));
    CD_TRY(read_status(c, &q));
    q.chain = cd__wapi_query(c, "chain");
    if (q.chain != NULL) {
        const char *known = c->read.chain(c->read.chain_ctx, cd_bytes_str(q.chain));
        q.chain = known != NULL ? known : q.chain;
    }
    if (type_name != NULL) {
        if (cd_wh_type_of(&type, face, cd_bytes_str(type_name)) != CD_OK) {
            return cd__wapi_refuse(c, 400, "unknown_event_type", "event_type", "%.40s is no event type", type_name);
        }
        q.types = 1u << type;
    }
    q.skip = q.before != 0 ? 0 : (u32)((page - 1) * limit);
    q.limit = (u32)limit + 1;
    CD_TRY(cd_wh_hook_list(s, &hooks, &cnt, &total, &c->mem, &q, why));
    bool has_more = cnt > limit;
    cnt = has_more ? limit : cnt;
    const char *next = cd__wapi_cursor_fmt(c, has_more ? hooks[cnt - 1].key : 0);
    cd_json_w w = cd__wapi_writer(c);
    if (face != CD_WH_C) {
        cd_json_w_obj(&w);
        cd_json_w_key(&w, "webhooks");
    }
    cd_json_w_arr(&w);
    for (usize i = 0; i < cnt; i++) {
        cd_json_w_obj(&w);
        if (!c->account.key.may_write) {
            cd_wh_mask_hook(&c->mem, &hooks[i]);
        }
        c->face->record(&w, &hooks[i], 0, &c->mem);
        cd_json_w_obj_end(&w);
    }
    cd_json_w_arr_end(&w);
    if (face != CD_WH_C) {
        cd__wapi_w_u64(&w, face, "page", page);
        if (face == CD_WH_A) {
            cd__wapi_w_u64(&w, face, "limit", limit);
        }
        cd__wapi_w_u64(&w, face, "total", total);
        if (face == CD_WH_A) {
            cd__wapi_w_str(&w, face, "next_cursor", next);
        }
        cd_json_w_obj_end(&w);
    }
    cd__wapi_link_next(c, next);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_LIST = {.run = list_run};

/* --- get, delete --- */

static cd_err get_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    CD_TRY(cd__wapi_find(c, s, false, why));
    answer_record(c, 0);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_GET = {.run = get_run};

static cd_err delete_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_json_w w = cd__wapi_writer(c);
    CD_TRY(cd__wapi_find(c, s, false, why));
    cd_err err = cd_wh_op_delete(s, &c->draft.ops, &c->hook, &c->mem, why);
    if (err == CD_EBUSY) {
        return cd__wapi_refuse(c, 409, "is_target", "", "set ops_url of its webhook or project to null instead");
    }
    CD_TRY(err);
    c->draft.ops_is = c->draft.ops.key != 0 ? CD_WH_OPS_GONE : CD_WH_OPS_SAME;
    c->gone = true;
    cd_json_w_obj(&w);
    if (cd__wapi_face(c) == CD_WH_C) {
        cd_wh_w_str(&w, "status", "deleted");
        cd_wh_w_str(&w, "id", c->hook.id);
    } else {
        cd_wh_w_str(&w, "id", c->hook.id);
        cd__wapi_w_bool(&w, cd__wapi_face(c), "deleted", true);
    }
    cd_json_w_obj_end(&w);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_DELETE = {.run = delete_run};

/* --- change --- */

static cd_err patch_prepare(cd__wapi_call *c)
{
    if (cd_json_kind_of(cd_json_get(c->body, "url")) == CD_JSON_STR) {
        CD_TRY(cd_wh_read_str(&c->read, &c->check_url, c->body, "url", CD_WH_URL_MAX, true));
    }
    return cd_wh_read_str(&c->read, &c->check_ops, c->body, "ops_url", CD_WH_URL_MAX, false);
}

static cd_err patch_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    CD_TRY(cd__wapi_find(c, s, true, why));
    c->draft = (cd_wh_draft){.hook = c->hook};
    CD_TRY(c->face->patch(&c->read, &c->draft, c->body));
    const u32 fixed = CD_WH_GIVEN_URL | CD_WH_GIVEN_CONFIG | CD_WH_GIVEN_TYPES;
    if (cd_wh_hook_is_target(&c->hook) && ((c->draft.given & fixed) != 0 || c->draft.ops_url != NULL)) {
        return cd__wapi_refuse(c, 400, "is_target", "", "it is told of other webhooks: change ops_url there");
    }
    cd_err err = cd_wh_op_change(s, &c->draft, &c->due, &c->hook, cd__wapi_now_ms(c->api), &c->mem, why);
    if (err == CD_EFULL) {
        return cd__wapi_refuse(c, 400, "invalid_value", "", "more than %d addresses", CD_WH_ADDRESSES_MAX);
    }
    CD_TRY(err);
    c->hook = c->draft.hook;
    c->changed = true;
    bool is_asked = cd_json_has(cd_json_get(c->body, "standard_headers"));
    answer_record(c, CD_WH_SHOW_UPDATED | (is_asked ? CD_WH_SHOW_STANDARD : 0));
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_PATCH = {.prepare = patch_prepare, .run = patch_run};

static cd_err set_status(cd__wapi_call *c, cd_wh_store *s, bool is_on, cd_errinfo *why)
{
    CD_TRY(cd__wapi_find(c, s, true, why));
    CD_TRY(cd_wh_op_status(s, &c->hook, &c->due, is_on, CD_WH_AGAIN_NONE, why));
    c->changed = true;
    answer_record(c, CD_WH_SHOW_UPDATED);
    return CD_OK;
}

static cd_err enable_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    return set_status(c, s, true, why);
}

static cd_err disable_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    return set_status(c, s, false, why);
}

const cd__wapi_steps cd__wapi_do_ENABLE = {.run = enable_run};
const cd__wapi_steps cd__wapi_do_DISABLE = {.run = disable_run};

/* --- secrets --- */

static cd_err rotate_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    u64 grace_s = GRACE_DFLT_S;
    cd_json v = cd_json_get(c->body, "grace_seconds");
    if (cd_json_has(v) &&
        (cd_json_kind_of(v) != CD_JSON_NUM || cd_json_u64(&grace_s, v, NULL) != CD_OK || grace_s > GRACE_MAX_S)) {
        return cd_wh_bad_shape(&c->read, "value_error", "grace_seconds", "must be 0 to %d", GRACE_MAX_S);
    }
    CD_TRY(cd__wapi_find(c, s, true, why));
    CD_TRY(cd_wh_op_rotate(s, &c->hook, &c->read, grace_s * 1000, cd__wapi_now_ms(c->api), why));
    c->changed = true;
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    cd_wh_w_str(&w, "id", c->hook.id);
    cd_json_w_key(&w, c->face->secret_key);
    cd_bytes fresh = c->hook.secret_next.n != 0 ? c->hook.secret_next : c->hook.secret;
    cd_json_w_str(&w, fresh);
    cd_wh_w_standard(&w, &c->hook, fresh, &c->mem);
    cd__wapi_w_time(&w, cd__wapi_face(c), "grace_until", c->hook.grace_until_ms);
    cd_json_w_obj_end(&w);
    return CD_OK;
}

static cd_err confirm_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    CD_TRY(cd__wapi_find(c, s, true, why));
    cd_err err = cd_wh_op_confirm(s, &c->hook, cd__wapi_now_ms(c->api), why);
    if (err == CD_ENOENT) {
        return cd__wapi_refuse(c, 409, "no_rotation", "", "no new secret waits to be confirmed");
    }
    CD_TRY(err);
    c->changed = true;
    answer_record(c, CD_WH_SHOW_UPDATED);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_ROTATE = {.run = rotate_run};
const cd__wapi_steps cd__wapi_do_CONFIRM = {.run = confirm_run};

/* --- addresses --- */

static const cd_wh_filter_key lists[] = {
    {.name = "add", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, addresses)},
    {.name = "remove", .kind = CD_WH_KEY_ADDRS, .at = offsetof(cd_wh_filter, from)},
};

static cd_err addresses_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_filter f;
    cd_bytes config;
    CD_TRY(cd_wh_read_filter(&c->read, &f, &config, c->body, "", lists, CD_COUNT(lists), 0));
    CD_TRY(cd__wapi_find(c, s, false, why));
    cd_err err = cd_wh_op_addresses(s, &c->hook, f.addresses, f.from, cd__wapi_now_ms(c->api), &c->mem, why);
    if (err == CD_EFULL) {
        return cd__wapi_refuse(c, 400, "invalid_value", "add", "more than %d addresses", CD_WH_ADDRESSES_MAX);
    }
    if (err == CD_EINVAL) {
        return cd__wapi_refuse(c, 400, "invalid_value", "remove",
                               "one address must be left: without any it would be told of more");
    }
    CD_TRY(err);
    c->changed = true;
    return CD_OK;
}

static void addresses_after(cd__wapi_call *c)
{
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    cd_wh_w_str(&w, "id", c->hook.id);
    cd__wapi_w_u64(&w, cd__wapi_face(c), "addresses", c->hook.filter.addresses.n);
    cd__wapi_w_u64(&w, cd__wapi_face(c), "effective_from_block", c->hook.from_block);
    put_warnings(c, &w);
    cd_json_w_obj_end(&w);
}

const cd__wapi_steps cd__wapi_do_ADDRESSES = {.run = addresses_run, .after = addresses_after};
