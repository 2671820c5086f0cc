/* What miners are given to do, and how it is found out whether they do it. */
#include "services/adx/exchange/gate_priv.h"

#include "base/hex.h"
#include "base/mem/mem.h"
#include "base/table/siphash.h"
#include "crypto/hash/sha2.h"
#include "services/adx/auction/text.h"

enum {
    AUDITS_MAX = 8,
    AUDIT_WHOLE_MAX = 16 << 20, /* larger ones are asked for a byte of, and their size */
    AUDIT_TIMEOUT_MS = 20000,
    AUDIT_PAUSE_S = 60,
    AUDIT_AGAIN_S = 600,
    TASK_S = 30,      /* to answer */
    TASK_PAUSE_S = 5, /* of one miner, between tasks */
    ASKED_MAX = 3,    /* miners for one outcome */
    FORGED_ONE_IN = 4,
    MISSES_MAX = 3,
};

/* --- what there is to keep --- */

void cd__gate_drop_objects(cd_gate *g)
{
    for (usize i = 0; i < g->objects_cnt; i++) {
        cd_free(g->objects[i].url);
    }
    cd_free(g->objects);
    g->objects = NULL;
    g->objects_cnt = 0;
    cd_hmap_clear(&g->by_digest);
}

static void add_object(cd_gate *g, const cd_adx_object *what, cd_bytes url)
{
    bool is_new;
    if (what->size == 0 || g->objects_cnt == CD__GATE_OBJECTS_MAX) {
        return;
    }
    u32 *slot = cd_hmap_put(&g->by_digest, &is_new, &what->digest);
    if (!is_new) {
        return;
    }
    cd__object *o = &g->objects[g->objects_cnt];
    *slot = (u32)g->objects_cnt++;
    *o = (cd__object){.what = *what, .url = cd_alloc(url.n + 1)};
    memcpy(o->url, url.p, url.n);
    o->url[url.n] = '\0';
}

void cd_gate_config(cd_gate *g, const cd_adx_config *config)
{
    cd__gate_drop_objects(g);
    g->objects = cd_new_array(cd__object, CD__GATE_OBJECTS_MAX);
    for (usize i = 0; i < config->campaigns_cnt; i++) {
        const cd_adx_campaign *c = &config->campaigns[i];
        for (usize k = 0; k < c->creatives_cnt; k++) {
            const cd_adx_creative *cr = &c->creatives[k];
            for (usize m = 0; m < cr->media_cnt; m++) {
                add_object(g, &cr->objects[m], cr->media[m].url);
            }
        }
    }
    g->is_assignment_old = true;
}

static cd__object *object_of(const cd_gate *g, const cd_hash32 *digest)
{
    const u32 *no = cd_hmap_get(&g->by_digest, digest);
    return no == NULL ? NULL : &g->objects[*no];
}

/* --- who keeps it: those whose hash with it is highest, so that little changes when one comes or goes --- */

static u64 score(const cd__object *o, const cd__peer *p)
{
    const cd_sipkey key = {cd_le64(o->what.digest.b), cd_le64(o->what.digest.b + 8)};
    return cd_siphash13(key, cd_bytes_of(p->row.id, CD_MINER_ID_LEN));
}

static bool is_fit(const cd__peer *p, const cd__object *o, u64 used)
{
    return p->is_registered && !p->is_closing && p->assigned < CD_WIRE_OBJECTS_MAX &&
           o->what.size <= p->cache_size / 4 && used + o->what.size <= p->cache_size;
}

static void choose_holders(cd_gate *g, cd__object *o, cd_hmap *used)
{
    u64 best[CD__GATE_HOLDERS] = {0};
    memset(o->holders, 0, sizeof o->holders);
    cd_list_each(it, &g->peers)
    {
        cd__peer *p = cd_list_of(it, cd__peer, link);
        const u64 *has = cd_hmap_get(used, &p);
        if (!is_fit(p, o, has == NULL ? 0 : *has) || cd__gate_is_suspended(g, p->row.id)) {
            continue;
        }
        cd__peer *in = p;
        u64 s = score(o, p);
        for (usize i = 0; i < CD__GATE_HOLDERS && in != NULL; i++) {
            if (o->holders[i] == NULL || s > best[i]) {
                cd__peer *out = o->holders[i];
                u64 was = best[i];
                o->holders[i] = in;
                best[i] = s;
                in = out;
                s = was;
            }
        }
    }
    for (usize i = 0; i < CD__GATE_HOLDERS && o->holders[i] != NULL; i++) {
        cd__peer *p = o->holders[i];
        *(u64 *)cd_hmap_put(used, NULL, &p) += o->what.size;
        p->assigned++;
    }
}

static bool holds(const cd__object *o, const cd__peer *p)
{
    for (usize i = 0; i < CD__GATE_HOLDERS; i++) {
        if (o->holders[i] == p) {
            return true;
        }
    }
    return false;
}

/* Tells a miner what is its own to keep, when that has changed. */
static void send_assignment(cd_gate *g, cd__peer *p)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_sha256_ctx hash;
    cd_hash32 h;
    cd_sha256_init(&hash);
    cd_wire_begin(&p->out, &w, "assign");
    cd_json_w_key(&w, "objects");
    cd_json_w_arr(&w);
    for (usize i = 0; i < g->objects_cnt; i++) {
        const cd__object *o = &g->objects[i];
        if (holds(o, p)) {
            cd_sha256_update(&hash, cd_bytes_of(o->what.digest.b, 32));
            cd_json_w_obj(&w);
            cd_adx_put_hex(&w, "sha256", cd_bytes_of(o->what.digest.b, 32));
            cd_adx_put_u64(&w, "size", o->what.size);
            cd_json_put_cstr(&w, "url", o->url);
            cd_json_w_obj_end(&w);
        }
    }
    cd_json_w_arr_end(&w);
    cd_sha256_final(&hash, &h);
    if (p->knows_assignment && p->assigned_hash == cd_le64(h.b)) {
        p->out.seq--;
        cd_buf_fini(&text);
        return;
    }
    p->knows_assignment = true;
    p->assigned_hash = cd_le64(h.b);
    cd__peer_send(p, &w);
}

void cd__gate_assign(cd_gate *g)
{
    cd_hmap used;
    g->is_assignment_old = false;
    cd_hmap_init(&used, CD_HASH_KEYED, sizeof(cd__peer *), sizeof(u64));
    cd_list_each(it, &g->peers)
    {
        cd_list_of(it, cd__peer, link)->assigned = 0;
    }
    for (usize i = 0; i < g->objects_cnt; i++) {
        choose_holders(g, &g->objects[i], &used);
    }
    cd_hmap_fini(&used);
    cd_list_each_safe(it, &g->peers)
    {
        cd__peer *p = cd_list_of(it, cd__peer, link);
        if (p->is_registered && !p->is_closing) {
            send_assignment(g, p);
        }
    }
}

void cd__gate_leave(cd__peer *p)
{
    for (usize i = 0; i < p->gate->objects_cnt; i++) {
        cd__object *o = &p->gate->objects[i];
        for (usize k = 0; k < CD__GATE_HOLDERS; k++) {
            o->holders[k] = o->holders[k] == p ? NULL : o->holders[k];
        }
    }
}

/* The list of what a miner says it has, of what it was assigned. */
void cd__gate_beat_have(cd__peer *p, cd_json have)
{
    cd_hmap now;
    usize left = CD_WIRE_OBJECTS_MAX;
    cd_hmap_init(&now, CD_HASH_KEYED, sizeof(cd_hash32), 1);
    for (cd_json_it it = cd_json_iter(have); cd_json_next(&it) && left != 0; left--) {
        cd_hash32 digest;
        if (cd_json_fixed(digest.b, 32, it.val, NULL) != CD_OK || object_of(p->gate, &digest) == NULL) {
            continue;
        }
        const u8 *was = cd_hmap_get(&p->holdings, &digest);
        *(u8 *)cd_hmap_put(&now, NULL, &digest) = was == NULL || *was == CD__CLAIMED_NOT ? CD__CLAIMED : *was;
    }
    cd_hmap_fini(&p->holdings);
    p->holdings = now;
}

bool cd_gate_choose(cd_gate *g, cd_gate_choice *out, const cd_hash32 *digest, bool is_secure, cd_bytes preferred)
{
    const cd__object *o = object_of(g, digest);
    const cd__peer *found = NULL;
    u64 now = cd__gate_now_s(g);
    u64 turn = g->turn++;
    for (usize i = 0; i < CD__GATE_HOLDERS && o != NULL; i++) {
        const cd__peer *p = o->holders[(turn + i) % CD__GATE_HOLDERS];
        const u8 *has = p == NULL ? NULL : cd_hmap_get(&p->holdings, digest);
        bool is_good = has != NULL && *has == CD__AUDITED && p->up_to_s >= now && p->url[0] != '\0' &&
                       (!is_secure || strncmp(p->url, "https:", 6) == 0);
        bool is_wanted = is_good && cd_bytes_eq(preferred, cd_bytes_str(p->row.id));
        found = is_wanted || (is_good && found == NULL) ? p : found;
        if (is_wanted) {
            break;
        }
    }
    if (found == NULL) {
        return false;
    }
    memcpy(out->miner, found->row.id, sizeof out->miner);
    out->url = found->url;
    return true;
}

/* --- audits --- */

typedef struct audit {
    cd__peer *peer;
    cd_hash32 digest;
    u64 size;
    bool is_whole;
} audit;

static bool is_as_promised(const audit *a, const cd_http_result *r)
{
    char want[64];
    cd_hash32 h;
    if (r->err != CD_OK) {
        return false;
    }
    if (a->is_whole) {
        cd_sha256(&h, r->body);
        return r->status == 200 && r->body.n == a->size && cd_hash32_eq(&h, &a->digest);
    }
    cd_buf text = {0};
    cd_buf_fmt(&text, "bytes 0-0/%llu", (unsigned long long)a->size);
    bool is_part = r->status == 206 && r->body.n == 1 && text.n < sizeof want &&
                   cd_bytes_eq(cd_http_call_header(r->call, "Content-Range"), cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return is_part;
}

static void on_audited(void *ctx, const cd_http_result *r)
{
    audit *a = ctx;
    cd__peer *p = a->peer;
    cd_gate *g = p->gate;
    u64 now = cd__gate_now_s(g);
    u8 *has = cd_hmap_get(&p->holdings, &a->digest);
    bool is_good = is_as_promised(a, r);
    g->audits--;
    p->is_auditing = false;
    p->audit_after_s = now + (is_good ? 0 : AUDIT_PAUSE_S);
    cd_counter_add(is_good ? g->m.audits_ok : g->m.audits_failed, 1);
    if (has != NULL) {
        *has = is_good ? CD__AUDITED : CD__FAILED;
    }
    if (is_good) {
        p->strikes = 0;
    } else if (p->ws != NULL) {
        cd_log_info(g->cfg.log, "miner does not serve what it claims", CD_F("id", (const char *)p->row.id),
                    CD_F("status", r->status), CD_F("why", r->reason == NULL ? "" : r->reason));
        cd__peer_strike(p, "does not serve what it claims to have");
    }
    cd_free(a);
    cd__peer_unref(p);
}

static void begin_audit(cd__peer *p, const cd__object *o)
{
    cd_gate *g = p->gate;
    cd_buf url = {0};
    static const char *const one[] = {"Range: bytes=0-0"};
    audit *a = cd_new(audit);
    *a = (audit){.peer = p, .digest = o->what.digest, .size = o->what.size};
    a->is_whole = a->size <= AUDIT_WHOLE_MAX;
    cd_buf_fmt(&url, "%s/media/", p->url);
    cd_hex_fmt((char *)cd_buf_extend(&url, 64), cd_bytes_of(a->digest.b, 32));
    const cd_http_ask ask = {.url = cd_buf_cstr(&url),
                             .timeout_ms = AUDIT_TIMEOUT_MS,
                             .body_max = a->is_whole ? (usize)a->size : 1024,
                             .headers = one,
                             .headers_cnt = a->is_whole ? 0 : 1};
    p->is_auditing = true;
    g->audits++;
    cd__peer_ref(p);
    (void)cd_http_client_call(p->is_local ? g->near : g->far, &ask, on_audited, a);
    cd_buf_fini(&url);
}

/* What to look at: a claim that nobody has looked at, else now and then anything. */
static const cd__object *to_audit(cd__peer *p, u64 now)
{
    const void *key;
    void *val;
    bool is_routine = now >= p->audit_after_s + AUDIT_AGAIN_S;
    const cd__object *any = NULL;
    u64 seen = 0;
    for (usize it = 0; cd_hmap_next(&p->holdings, &it, &key, &val);) {
        const cd__object *o = object_of(p->gate, key);
        u8 has = *(u8 *)val;
        if (o == NULL) {
            continue;
        }
        if (has == CD__CLAIMED || has == CD__FAILED) {
            return o;
        }
        if (is_routine && cd_rng_below(&p->gate->rng, ++seen) == 0) {
            any = o;
        }
    }
    return any;
}

void cd__gate_audit(cd_gate *g)
{
    u64 now = cd__gate_now_s(g);
    cd_list_each(it, &g->peers)
    {
        cd__peer *p = cd_list_of(it, cd__peer, link);
        if (g->audits >= AUDITS_MAX) {
            return;
        }
        if (p->is_registered && !p->is_closing && !p->is_auditing && p->url[0] != '\0' && now >= p->audit_after_s &&
            !cd__gate_is_suspended(g, p->row.id)) {
            const cd__object *o = to_audit(p, now);
            if (o != NULL) {
                begin_audit(p, o);
            }
        }
    }
}

/* --- proof tasks --- */

void cd_gate_outcome(cd_gate *g, cd_bytes json)
{
    cd_buf copy = {0};
    if (json.n > CD_WIRE_OUTCOME_MAX) {
        return;
    }
    cd_buf_put(&copy, json);
    if (cd_mbox_send(g->outcomes, &copy) != CD_OK) {
        cd_buf_fini(&copy);
    }
}

static void take_outcomes(cd_gate *g)
{
    cd_buf json;
    while (cd_mbox_try_recv(g->outcomes, &json) == CD_OK) {
        usize slot = (usize)(g->docs_cnt++ % CD__GATE_OUTCOMES);
        cd__doc *d = &g->docs[slot];
        cd_buf_fini(&d->json);
        *d = (cd__doc){.no = g->docs_cnt, .json = json};
        cd_list_each(it, &g->peers)
        {
            cd_list_of(it, cd__peer, link)->outcomes_seen &= ~(1ull << slot);
        }
    }
}

/* A forged outcome: one digit of its proof is another. */
static bool forge(cd_buf *json, cd_rng *rng)
{
    static const char mark[] = "\"proof\":\"";
    const char *text = cd_buf_cstr(json);
    const char *at = strstr(text, mark);
    if (at == NULL) {
        return false;
    }
    usize from = (usize)(at - text) + sizeof mark - 1;
    const u8 *quote = memchr(json->p + from, '"', json->n - from);
    if (quote == NULL || quote == json->p + from) {
        return false;
    }
    u8 *digit = &json->p[from + cd_rng_below(rng, (u64)(quote - json->p) - from)];
    *digit = *digit == '0' ? '1' : '0';
    return true;
}

static void give_task(cd__peer *p, cd__doc *d, u64 now)
{
    cd_gate *g = p->gate;
    cd_buf json = {0};
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd_buf_put(&json, cd_buf_bytes(&d->json));
    bool is_forged = cd_rng_below(&g->rng, FORGED_ONE_IN) == 0 && forge(&json, &g->rng);
    p->task = (cd__task){.id = ++g->tasks_cnt, .is_true = !is_forged, .due_s = now + TASK_S};
    cd_wire_begin(&p->out, &w, "proof_task");
    cd_json_put_u64(&w, "task", p->task.id);
    cd_json_put_str(&w, "outcome", cd_buf_bytes(&json));
    cd__peer_send(p, &w);
    d->asked++;
    cd_buf_fini(&json);
}

static void task_for(cd__peer *p, u64 now)
{
    cd_gate *g = p->gate;
    if (p->task.id != 0 && now >= p->task.due_s) {
        p->task.id = 0;
        p->proof_misses++;
        p->task_after_s = now + (p->proof_misses < MISSES_MAX ? TASK_PAUSE_S : CD__GATE_SUSPEND_S);
    }
    if (p->task.id != 0 || now < p->task_after_s || !p->is_registered || p->is_closing ||
        cd__gate_is_suspended(g, p->row.id)) {
        return;
    }
    for (usize i = 0; i < CD__GATE_OUTCOMES; i++) {
        cd__doc *d = &g->docs[i];
        if (d->no != 0 && d->asked < ASKED_MAX && (p->outcomes_seen >> i & 1) == 0) {
            p->outcomes_seen |= 1ull << i;
            give_task(p, d, now);
            return;
        }
    }
}

void cd__gate_tasks(cd_gate *g)
{
    u64 now = cd__gate_now_s(g);
    take_outcomes(g);
    cd_list_each_safe(it, &g->peers)
    {
        task_for(cd_list_of(it, cd__peer, link), now);
    }
}

void cd__gate_answer(cd__peer *p, const cd_wire_in *in)
{
    cd_gate *g = p->gate;
    u64 id = 0;
    bool is_valid = false;
    bool is_read = cd_json_u64(&id, cd_json_get(in->doc, "task"), NULL) == CD_OK &&
                   cd_json_bool(&is_valid, cd_json_get(in->doc, "valid"), NULL) == CD_OK;
    if (!is_read || id == 0 || id != p->task.id) {
        return; // too late, or never asked
    }
    bool is_right = is_valid == p->task.is_true;
    p->task.id = 0;
    p->proof_misses = 0;
    p->task_after_s = cd__gate_now_s(g) + TASK_PAUSE_S;
    cd_counter_add(is_right ? g->m.proofs_ok : g->m.proofs_wrong, 1);
    if (is_right) {
        cd__gate_proof_paid(p);
    } else {
        cd__peer_strike(p, "says the wrong thing of a proof");
    }
}
