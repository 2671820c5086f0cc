/* Usage, health, metrics, description; test events and previews, which the engine answers. */
#include "services/webhook/api/call.h"

#include "base/os/process.h"
#include "base/version.h"
#include "services/webhook/core/chain/intake.h"

enum { PREVIEW_DFLT = 500 };

/* --- usage --- */

static cd_err usage_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    static const char *const periods[] = {
        [CD_WH_NO_QUOTA] = NULL, [CD_WH_PER_DAY] = "day", [CD_WH_PER_MONTH] = "month"};
    const cd_wh_project *p = &c->account.project;
    const cd_wh_tier *tier = cd_wh_tier_of(p->tier);
    const cd_wh_hook_query q = {.project = p->id, .status = -1, .limit = 1};
    cd_wh_face face = p->face;
    cd_wh_hook *hooks;
    usize cnt;
    u64 total;
    u64 used;
    CD_TRY(cd_wh_hook_list(s, &hooks, &cnt, &total, &c->mem, &q, why));
    CD_TRY(cd_wh_usage(s, &used, p->id, cd__wapi_now_ms(c->api), why));
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    cd__wapi_w_str(&w, face, "project", p->name);
    cd__wapi_w_str(&w, face, "tier", tier->name);
    cd__wapi_key(&w, face, "webhooks");
    cd_json_w_obj(&w);
    cd__wapi_w_u64(&w, face, "used", total);
    cd__wapi_w_u64(&w, face, "limit", tier->webhooks);
    cd_json_w_obj_end(&w);
    cd__wapi_key(&w, face, "events");
    cd_json_w_obj(&w);
    cd__wapi_w_u64(&w, face, "used", used);
    cd__wapi_key(&w, face, "limit");
    if (p->quota_period == CD_WH_NO_QUOTA) {
        cd_json_w_null(&w);
    } else {
        cd_json_w_u64(&w, p->quota);
    }
    cd__wapi_w_str(&w, face, "period", periods[p->quota_period]);
    cd_json_w_obj_end(&w);
    cd__wapi_w_u64(&w, face, "requests_per_second", tier->requests_per_s);
    cd_json_w_obj_end(&w);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_USAGE = {.run = usage_run};

/* --- without a key --- */

static bool put_chains(cd__wapi_call *c, cd_json_w *w)
{
    const cd_wh_engine *e = c->api->cfg.engine;
    bool is_ready = true;
    cd_wh_head head;
    cd_json_w_key(w, "chains");
    cd_json_w_arr(w);
    for (usize i = 0; e->head(e->ctx, &head, i); i++) {
        is_ready = is_ready && head.is_connected;
        cd_json_w_obj(w);
        cd_wh_w_str(w, "chain", head.chain);
        cd__wapi_w_bool(w, CD_WH_C, "connected", head.is_connected);
        cd__wapi_w_u64(w, CD_WH_C, "block_number", head.height);
        cd__wapi_w_u64(w, CD_WH_C, "behind", head.lag);
        if (head.problem[0] != '\0') {
            cd_wh_w_str(w, "problem", head.problem);
        }
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    return is_ready;
}

static void health_after(cd__wapi_call *c)
{
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    cd_wh_w_str(&w, "status", "ok");
    cd_wh_w_str(&w, "version", CD_VERSION);
    (void)put_chains(c, &w);
    cd_json_w_obj_end(&w);
    cd__wapi_answer(c);
}

static void ready_after(cd__wapi_call *c)
{
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    const cd_wh_engine *e = c->api->cfg.engine;
    const char *trouble = e->trouble == NULL ? "" : e->trouble(e->ctx);
    bool is_up = put_chains(c, &w);
    bool is_ready = is_up && trouble[0] == '\0';
    cd_wh_w_str(&w, "status", is_ready ? "ready" : is_up ? "store" : "starting");
    if (trouble[0] != '\0') {
        cd_wh_w_str(&w, "problem", trouble);
    }
    cd_json_w_obj_end(&w);
    c->status = is_ready ? 200 : 503;
    cd__wapi_answer(c);
}

static void metrics_after(cd__wapi_call *c)
{
    if (c->api->cfg.metrics != NULL) {
        cd_process_metrics(c->api->cfg.metrics);
        cd_metrics_fmt(c->api->cfg.metrics, cd_http_req_out(c->req));
    }
    c->type = CD_METRICS_CONTENT_TYPE;
    cd__wapi_answer(c);
}

/* One face only, or ?variant=. */
static void openapi_after(cd__wapi_call *c)
{
    const char *name = cd__wapi_query(c, "variant");
    u32 faces = c->api->cfg.faces;
    cd_wh_face face = faces == 0 ? CD_WH_A : (cd_wh_face)__builtin_ctz(faces);
    if (name == NULL || cd_wh_face_of(&face, cd_bytes_str(name)) == CD_OK) {
        cd_buf_put(cd_http_req_out(c->req), cd_buf_bytes(&c->api->openapi[face]));
    } else {
        cd__wapi_blame(c, 404, "not_found", "", "variants are a, b and c");
    }
    cd__wapi_answer(c);
}

const cd__wapi_steps cd__wapi_do_HEALTH = {.after = health_after};
const cd__wapi_steps cd__wapi_do_READY = {.after = ready_after};
const cd__wapi_steps cd__wapi_do_METRICS = {.after = metrics_after};
const cd__wapi_steps cd__wapi_do_OPENAPI = {.after = openapi_after};

/* --- test events --- */

static cd_err test_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_type type;
    cd_json v = cd_json_get(c->body, "event_type");
    CD_TRY(cd__wapi_find(c, s, true, why));
    if (cd_json_has(v)) {
        CD_TRY(cd_wh_read_type(&c->read, &type, cd__wapi_face(c), v, "event_type"));
        if ((c->hook.types & 1u << type) == 0) {
            return cd__wapi_refuse(c, 400, "invalid_value", "event_type", "this webhook does not take %s",
                                   cd_wh_type_name(type));
        }
        c->draft.hook.types = 1u << type;
    } else {
        c->draft.hook.types = c->hook.types;
    }
    return CD_OK;
}

static void on_tested(void *arg, const cd_wh_attempt *a, const cd_bytes *body, const char *why)
{
    cd__wapi_call *c = arg;
    cd_wh_face face = cd__wapi_face(c);
    if (a == NULL) {
        cd__wapi_blame(c, 503, "unavailable", "", "the test event was not sent: %s", why);
        cd__wapi_answer(c);
        return;
    }
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    cd__wapi_w_bool(&w, face, "success", a->status >= 200 && a->status < 300);
    cd__wapi_w_u64_if(&w, face, "status_code", a->status != 0, a->status);
    cd__wapi_w_u64(&w, face, "response_time_ms", a->ms);
    cd__wapi_w_str(&w, face, "error", a->error[0] != '\0' ? a->error : NULL);
    cd__wapi_key(&w, face, "response_body");
    cd_json_w_str(&w, a->body);
    if (body != NULL && body->n != 0) {
        cd__wapi_key(&w, face, "payload");
        cd_json_w_raw(&w, *body);
    }
    cd_json_w_obj_end(&w);
    cd__wapi_answer(c);
}

static void test_after(cd__wapi_call *c)
{
    const cd_wh_engine *e = c->api->cfg.engine;
    e->test(e->ctx, &c->hook, (cd_wh_type)__builtin_ctz(c->draft.hook.types), on_tested, c);
}

const cd__wapi_steps cd__wapi_do_TEST = {.run = test_run, .after = test_after};

/* --- previews --- */

static cd_err preview_prepare(cd__wapi_call *c)
{
    u64 blocks = PREVIEW_DFLT;
    cd_json v = cd_json_get(c->body, "blocks");
    c->read.is_dry = true;
    CD_TRY(c->face->create(&c->read, &c->draft, c->body));
    if (cd_json_has(v) && (cd_json_kind_of(v) != CD_JSON_NUM || cd_json_u64(&blocks, v, NULL) != CD_OK || blocks == 0 ||
                           blocks > CD_WH_PREVIEW_BLOCKS)) {
        return cd_wh_bad_shape(&c->read, "value_error", "blocks", "must be 1 to %d", CD_WH_PREVIEW_BLOCKS);
    }
    c->blocks = (u32)blocks;
    c->draft.hook.face = cd__wapi_face(c);
    c->draft.hook.project = c->account.project.id;
    return CD_OK;
}

static void on_previewed(void *arg, const cd_wh_previewed *p, const char *why)
{
    cd__wapi_call *c = arg;
    cd_wh_face face = cd__wapi_face(c);
    if (p == NULL && strcmp(why, CD_WH_PREVIEW_BUSY) == 0) {
        cd_http_req_add_lines(c->req, cd_bytes_str("Retry-After: 2\r\n"));
        cd__wapi_blame(c, 503, "busy", "", "%s", why);
        cd__wapi_answer(c);
        return;
    }
    if (p == NULL) {
        cd__wapi_blame(c, 502, "node_unavailable", "", "the node did not answer: %s", why);
        cd__wapi_answer(c);
        return;
    }
    cd_json_w w = cd__wapi_writer(c);
    cd_json_w_obj(&w);
    cd__wapi_w_u64(&w, face, "blocks", p->blocks);
    cd__wapi_w_u64(&w, face, "matched_blocks", p->matched_blocks);
    cd__wapi_w_u64(&w, face, "events", p->events);
    cd__wapi_key(&w, face, "payloads");
    cd_json_w_arr(&w);
    for (usize i = 0; i < p->bodies_cnt; i++) {
        cd_json_w_raw(&w, p->bodies[i]);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_obj_end(&w);
    cd__wapi_answer(c);
}

static void preview_after(cd__wapi_call *c)
{
    const cd_wh_engine *e = c->api->cfg.engine;
    e->preview(e->ctx, &c->draft.hook, c->blocks, on_previewed, c);
}

const cd__wapi_steps cd__wapi_do_PREVIEW = {.prepare = preview_prepare, .after = preview_after};
