#include "chains/platform/service/service_priv.h"

#include "base/mem/mem.h"

#include <stdio.h>

/* --- the table --- */

static const cd_rpc_method methods[] = {
#define X CD_RPC_NAMED_ROW
#include "chains/platform/service/service.def"
#undef X
};

/* The group of methods for which the node keeps keys. */
static const cd_rpc_group groups[] = {{.name = "keystore", .alias = NULL, .is_default = false}};

static void begin(void *ctx, void *scope)
{
    cd__view *v = scope;
    const cd_platform_service *s = ctx;
    if (cd_kv_snapshot(&v->kv, s->cfg.base) != CD_OK) {
        v->kv = NULL;
    }
}

static void end(void *ctx, void *scope)
{
    (void)ctx;
    cd_kv_close(((cd__view *)scope)->kv);
}

static void drop_card(void *ctx, void *card)
{
    (void)ctx;
    cd_free(card);
}

cd_platform_service *cd_platform_service_new(const cd_platform_cfg *cfg)
{
    cd_platform_service *s = cd_new(cd_platform_service);
    s->cfg = *cfg;
    s->rng = cd_rng_seeded(cfg->seed);
    s->cards = cd_lru_new(CD_HASH_IDENTITY, sizeof(cd_hash32), CD__CARDS_BYTES, drop_card, NULL);
    cd_mutex_init(&s->lock);
    const cd_network_family *f = cfg->network->family;
    (void)snprintf(s->net_id, sizeof s->net_id, "%sID", f->net);
    (void)snprintf(s->nets, sizeof s->nets, "%ss", f->net);
    (void)snprintf(s->transform, sizeof s->transform, "%sTransformationTxID", f->net);
    s->table = cd_rpc_table_new(groups, CD_COUNT(groups));
    /* The other family has forgotten these methods: they are there for who asks for a keystore. */
    if (f->legacy_stakers || cfg->users != NULL) {
        cd_err e = cd_rpc_table_enable(s->table, cd_bytes_str("keystore"), NULL);
        CD_ASSERT(e == CD_OK);
    }
    cd_rpc_table_add(s->table, methods, CD_COUNT(methods));
    s->service = (cd_rpc_service){
        .form = CD_RPC_JSON2,
        .table = s->table,
        .limits = CD_RPC_LIMITS_DEFAULT,
        .ctx = s,
        .scope_size = sizeof(cd__view),
        .begin = begin,
        .end = end,
    };
    return s;
}

void cd_platform_service_free(cd_platform_service *s)
{
    if (s == NULL) {
        return;
    }
    cd_rpc_table_free(s->table);
    cd__roll_end(s, s->roll);
    cd_lru_free(s->cards);
    cd_mutex_fini(&s->lock);
    cd_free(s);
}

const cd_rpc_service *cd_platform_service_rpc(const cd_platform_service *s)
{
    return &s->service;
}

/* --- what handlers share --- */

const cd_platform_service *cd__service_of(const cd_rpc_call *call)
{
    return call->ctx;
}

void cd__state_renew(cd_rpc_call *call)
{
    end(call->ctx, call->scope);
    begin(call->ctx, call->scope);
}

cd_err cd__state_of(cd_pstate *out, cd_rpc_call *call)
{
    const cd__view *v = call->scope;
    if (v->kv == NULL) {
        return cd__fail(call, "the store does not answer");
    }
    *out = (cd_pstate){.kv = v->kv};
    return CD_OK;
}

const char *cd__words(cd_err e)
{
    return e == CD_ENOENT ? "not found" : cd_err_str(e);
}

const char *cd__id_text(const cd_rpc_call *call, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    const char *kept = cd_arena_str(call->arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return kept;
}

const char *cd__addr_text(const cd_rpc_call *call, const cd_addr20 *addr)
{
    cd_buf text = {0};
    cd_chain_addr_put(&text, "P", cd__service_of(call)->cfg.network->prefix, addr);
    const char *kept = cd_arena_str(call->arena, cd_buf_bytes(&text));
    cd_buf_fini(&text);
    return kept;
}

cd_linear_place cd__place_of(const cd_platform_service *s)
{
    return (cd_linear_place){.chain = "P", .prefix = s->cfg.network->prefix};
}

cd_err cd__chain_find(cd_hash32 *out, const cd_platform_service *s, cd_bytes text, cd_errinfo *why)
{
    if (cd_bytes_eq(text, cd_bytes_str("P")) || cd_bytes_eq(text, cd_bytes_str("platform"))) {
        *out = (cd_hash32){{0}};
        return CD_OK;
    }
    if (s->cfg.chain_of != NULL && s->cfg.chain_of(s->cfg.ctx, out, text) == CD_OK) {
        return CD_OK;
    }
    return cd_id_parse(out, text, why);
}

/* --- addresses --- */

/* "couldn't parse address …" */
static cd_err bad_addr(cd_rpc_call *call, cd_bytes text, const char *reason)
{
    return cd__fail(call, "couldn't parse address \"%.*s\": %s", (int)cd_min_u64(text.n, 256), (const char *)text.p,
                    reason);
}

cd_err cd__addr_read(cd_addr20 *out, cd_rpc_call *call, cd_bytes text)
{
    const cd_platform_service *s = cd__service_of(call);
    const char *prefix = s->cfg.network->prefix;
    cd_chain_addr addr;
    cd_hash32 chain;
    cd_errinfo why = {0};
    if (cd_short_id_parse(out, text, NULL) == CD_OK) {
        return CD_OK; // as the original's own clients write them
    }
    if (cd_chain_addr_parse(&addr, text, &why) != CD_OK) {
        return bad_addr(call, text, why.msg);
    }
    if (cd__chain_find(&chain, s, addr.chain, &why) != CD_OK) {
        return bad_addr(call, text,
                        cd_arena_fmt(call->arena, "there is no ID with alias: %.*s", (int)cd_min_u64(addr.chain.n, 64),
                                     (const char *)addr.chain.p));
    }
    if (strcmp(addr.prefix, prefix) != 0) {
        return bad_addr(call, text,
                        cd_arena_fmt(call->arena, "expected hrp \"%s\" but got \"%s\"", prefix, addr.prefix));
    }
    if (!cd_hash32_is_zero(&chain)) {
        static const cd_hash32 own;
        return bad_addr(call, text,
                        cd_arena_fmt(call->arena, "mismatched chainIDs: expected \"%s\" but got \"%s\"",
                                     cd__id_text(call, &own), cd__id_text(call, &chain)));
    }
    *out = addr.addr;
    return CD_OK;
}

cd_err cd__addrs_read(cd_addr20 **out, cd_rpc_call *call, const cd_rpc_strings *texts)
{
    cd_addr20 *v = cd_arena_array(call->arena, cd_addr20, texts->n);
    for (usize i = 0; i < texts->n; i++) {
        CD_TRY(cd__addr_read(&v[i], call, texts->v[i]));
    }
    *out = v;
    return CD_OK;
}

void cd__put_addrs(const cd_rpc_call *call, const char *key, const cd_linear_list *addrs)
{
    const cd_addr20 *v = addrs->v;
    cd_json_w_key(call->out, key);
    cd_json_w_arr(call->out);
    for (u32 i = 0; i < addrs->cnt; i++) {
        cd_json_w_chain_addr(call->out, "P", cd__service_of(call)->cfg.network->prefix, &v[i]);
    }
    cd_json_w_arr_end(call->out);
}

void cd__put_owner(const cd_rpc_call *call, const char *key, u64 locktime, u32 threshold, const cd_linear_list *addrs)
{
    cd_json_w_key(call->out, key);
    cd_json_w_obj(call->out);
    cd_json_put_dec(call->out, "locktime", locktime);
    cd_json_put_dec(call->out, "threshold", threshold);
    cd__put_addrs(call, "addresses", addrs);
    cd_json_w_obj_end(call->out);
}

/* --- names of families --- */

/* Inside a string a quote is escaped, so a name with quotes and a colon is a name. */
void cd__put_named(const cd_rpc_call *call, const char *key, cd_bytes json)
{
    static const char *const names[] = {"\"netID\":", "\"netAuthorization\":"};
    const char *net = cd__service_of(call)->cfg.network->family->net;
    cd_buf out = {0};
    usize copied = 0;
    for (usize i = 0; i < json.n; i++) {
        for (usize j = 0; json.p[i] == '"' && j < CD_COUNT(names); j++) {
            usize n = strlen(names[j]);
            if (json.n - i >= n && memcmp(json.p + i, names[j], n) == 0) {
                cd_buf_put(&out, cd_bytes_sub(json, copied, i - copied));
                cd_buf_fmt(&out, "\"%s", net);
                copied = i + strlen("\"net");
            }
        }
    }
    cd_buf_put(&out, cd_bytes_sub(json, copied, json.n - copied));
    cd_json_put_raw(call->out, key, cd_buf_bytes(&out));
    cd_buf_fini(&out);
}
