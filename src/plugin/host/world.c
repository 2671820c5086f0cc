#include "plugin/host/world.h"

#include "base/mem/mem.h"
#include "base/thread/thread.h"
#include "plugin/wire/wire.h"
#include "types/warp.h"

struct cd_plugin_world {
    cd_plugin_world_cfg cfg;
    cd_mutex lock; /* protects the rest */
    cd_plugin_word *first;
    cd_plugin_word **last;
    usize cnt;
    usize bytes;
};

static cd_err id_of(cd_hash32 *out, cd_bytes id, cd_errinfo *why)
{
    if (id.n != sizeof out->b) {
        return cd_fail(why, CD_EFORMAT, "expected 32 bytes but got %zu", id.n);
    }
    memcpy(out->b, id.p, sizeof out->b);
    return CD_OK;
}

/* Gives an error that has no text the text of its code. */
static cd_err said(cd_err e, cd_errinfo *why)
{
    return e == CD_OK ? e : cd_fail(why, e, "%s", cd_err_str(e));
}

/* --- names --- */

static cd_err serve_lookup(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_plugin_names *names = &((cd_plugin_world *)ctx)->cfg.names;
    cd_wire_alias_name m = {0};
    cd_hash32 id;
    CD_TRY(CD_WIRE_PARSE(&m, alias_name, mem, msg, why));
    if (names->find == NULL || names->find(names->ctx, &id, m.alias) != CD_OK) {
        return cd_fail(why, CD_ENOENT, "there is no chain with alias/ID '%.*s'", (int)cd_min_u64(m.alias.n, 200),
                       (const char *)m.alias.p);
    }
    const cd_wire_alias_id answer = {.id = cd_bytes_of(id.b, sizeof id.b)};
    CD_WIRE_PUT(out, alias_id, &answer);
    return CD_OK;
}

static cd_err aliases_of(const cd_plugin_world *w, cd_bytes **out, usize *cnt, cd_arena *mem, cd_bytes msg,
                         cd_errinfo *why)
{
    const cd_plugin_names *names = &w->cfg.names;
    cd_wire_alias_id m = {0};
    cd_hash32 id;
    CD_TRY(CD_WIRE_PARSE(&m, alias_id, mem, msg, why));
    CD_TRY(id_of(&id, m.id, why));
    *cnt = 0;
    if (names->list != NULL) {
        names->list(names->ctx, out, cnt, mem, &id);
    }
    return CD_OK;
}

static cd_err serve_primary_alias(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_bytes *all = NULL;
    usize cnt;
    CD_TRY(aliases_of(ctx, &all, &cnt, mem, msg, why));
    if (cnt == 0) {
        return cd_fail(why, CD_ENOENT, "there is no alias for ID");
    }
    const cd_wire_alias_name answer = {.alias = all[0]};
    CD_WIRE_PUT(out, alias_name, &answer);
    return CD_OK;
}

static cd_err serve_aliases(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_bytes *all = NULL;
    usize cnt;
    CD_TRY(aliases_of(ctx, &all, &cnt, mem, msg, why));
    const cd_wire_alias_names answer = {.aliases = cd_wire_list(all, cnt)};
    CD_WIRE_PUT(out, alias_names, &answer);
    return CD_OK;
}

/* --- who validates --- */

static cd_err validators_of(const cd_plugin_world *w, const cd_vm_validators **out, cd_errinfo *why)
{
    *out = w->cfg.validators;
    return *out != NULL ? CD_OK : cd_fail(why, CD_EUNSUPPORTED, "this node does not know who validates");
}

static cd_err put_height(cd_buf *out, u64 height)
{
    const cd_wire_val_height answer = {.height = height};
    CD_WIRE_PUT(out, val_height, &answer);
    return CD_OK;
}

static cd_err serve_minimum(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_vm_validators *v;
    u64 height = 0;
    (void)mem;
    (void)msg;
    CD_TRY(validators_of(ctx, &v, why));
    CD_TRY(said(v->minimum(v, &height), why));
    return put_height(out, height);
}

static cd_err serve_current(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_vm_validators *v;
    u64 height = 0;
    (void)mem;
    (void)msg;
    CD_TRY(validators_of(ctx, &v, why));
    CD_TRY(said(v->current(v, &height), why));
    return put_height(out, height);
}

static cd_err serve_subnet(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_vm_validators *v;
    cd_wire_val_id m = {0};
    cd_hash32 chain;
    cd_hash32 subnet;
    CD_TRY(validators_of(ctx, &v, why));
    CD_TRY(CD_WIRE_PARSE(&m, val_id, mem, msg, why));
    CD_TRY(id_of(&chain, m.id, why));
    CD_TRY(said(v->subnet_of(v, &subnet, &chain), why));
    const cd_wire_val_id answer = {.id = cd_bytes_of(subnet.b, sizeof subnet.b)};
    CD_WIRE_PUT(out, val_id, &answer);
    return CD_OK;
}

static cd_err serve_set(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_vm_validators *v;
    const cd_vm_validator *set = NULL;
    cd_wire_val_at m = {0};
    cd_hash32 subnet;
    usize cnt = 0;
    CD_TRY(validators_of(ctx, &v, why));
    CD_TRY(CD_WIRE_PARSE(&m, val_at, mem, msg, why));
    CD_TRY(id_of(&subnet, m.subnet_id, why));
    CD_TRY(said(v->at(v, &set, &cnt, mem, &subnet, m.height), why));
    cd_wire_validator *rows = cd_arena_array(mem, cd_wire_validator, cnt);
    for (usize i = 0; i < cnt; i++) {
        rows[i].node_id = cd_bytes_of(set[i].node_id.b, sizeof set[i].node_id.b);
        rows[i].weight = set[i].weight;
        rows[i].public_key = set[i].has_key ? cd_bytes_of(set[i].key, sizeof set[i].key) : (cd_bytes){0};
    }
    const cd_wire_val_set answer = {.validators = cd_wire_list(rows, cnt)};
    CD_WIRE_PUT(out, val_set, &answer);
    return CD_OK;
}

/* Refused: the answer holds more of each validator, such as its start, than vm/validators.h tells. */
static cd_err serve_current_set(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    (void)ctx;
    (void)out;
    (void)mem;
    (void)msg;
    return cd_fail(why, CD_EUNSUPPORTED, "this node does not tell the current validator set");
}

/* --- signatures --- */

static cd_err serve_sign(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    const cd_plugin_world_cfg *cfg = &((cd_plugin_world *)ctx)->cfg;
    cd_wire_warp_sign m = {0};
    u8 sig[96];
    cd_hash32 chain;
    CD_TRY(CD_WIRE_PARSE(&m, warp_sign, mem, msg, why));
    CD_TRY(id_of(&chain, m.source_chain_id, why));
    if (!cd_hash32_eq(&chain, &cfg->chain_id)) {
        return cd_fail(why, CD_EINVAL, "wrong sourceChainID");
    }
    if (m.network_id != cfg->network_id) {
        return cd_fail(why, CD_EINVAL, "wrong networkID");
    }
    if (cfg->signer.sign == NULL) {
        return cd_fail(why, CD_EUNSUPPORTED, "this node signs nothing");
    }
    cd_buf text = {0};
    const cd_warp_unsigned body = {.network_id = m.network_id, .source_chain = chain, .payload = m.payload};
    cd_warp_unsigned_enc(&text, &body);
    cd_err e = cfg->signer.sign(cfg->signer.ctx, sig, cd_buf_bytes(&text), why);
    cd_buf_fini(&text);
    CD_TRY(e);
    const cd_wire_warp_signature answer = {.signature = cd_bytes_of(sig, sizeof sig)};
    CD_WIRE_PUT(out, warp_signature, &answer);
    return CD_OK;
}

/* --- messages to peers --- */

static cd_err nodes_check(const cd_bytes *ids, usize cnt, cd_errinfo *why)
{
    if (cnt > CD_PLUGIN_WORD_NODES_MAX) {
        return cd_fail(why, CD_ELIMIT, "a message to %zu nodes; at most %d", cnt, CD_PLUGIN_WORD_NODES_MAX);
    }
    for (usize i = 0; i < cnt; i++) {
        if (ids[i].n != sizeof(cd_node_id)) {
            return cd_fail(why, CD_EFORMAT, "a node's id has 20 bytes, not %zu", ids[i].n);
        }
    }
    return CD_OK;
}

static cd_err push(cd_plugin_world *w, cd_plugin_word *word, cd_errinfo *why)
{
    cd_mutex_lock(&w->lock);
    bool fits = w->cnt < CD_PLUGIN_WORDS_MAX && word->bytes <= CD_PLUGIN_WORD_BYTES_MAX - w->bytes;
    if (fits) {
        *w->last = word;
        w->last = &word->next;
        w->cnt++;
        w->bytes += word->bytes;
    }
    cd_mutex_unlock(&w->lock);
    if (!fits) {
        cd_free(word);
        return cd_fail(why, CD_EFULL, "too many messages wait to be sent");
    }
    w->cfg.waiting(w->cfg.ctx);
    return CD_OK;
}

/* Copies word, its nodes and its message into one piece, and hands it on. */
static cd_err hand_on(cd_plugin_world *w, const cd_plugin_word *word, const cd_bytes *ids, usize cnt, cd_errinfo *why)
{
    CD_TRY(nodes_check(ids, cnt, why));
    usize bytes = sizeof *word + cnt * sizeof(cd_node_id) + word->msg.n;
    cd_plugin_word *own = cd_try_alloc(bytes);
    if (own == NULL) {
        return cd_fail(why, CD_ENOMEM, "no memory for a message of %zu bytes", word->msg.n);
    }
    cd_node_id *nodes = (cd_node_id *)(void *)(own + 1);
    u8 *text = (u8 *)(nodes + cnt);
    *own = *word;
    own->next = NULL;
    own->bytes = bytes;
    for (usize i = 0; i < cnt; i++) {
        memcpy(nodes[i].b, ids[i].p, sizeof nodes[i].b);
    }
    if (word->msg.n != 0) {
        memcpy(text, word->msg.p, word->msg.n);
    }
    own->msg = cd_bytes_of(text, word->msg.n);
    own->to.nodes = nodes;
    own->to.node_cnt = cnt;
    return push(w, own, why);
}

static cd_err serve_send_request(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_send_request m = {0};
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&m, send_request, mem, msg, why));
    const cd_plugin_word w = {.kind = CD_PLUGIN_REQUEST, .request_id = m.request_id, .msg = m.request};
    return hand_on(ctx, &w, m.node_ids.v, m.node_ids.cnt, why);
}

static cd_err serve_send_response(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_send_response m = {0};
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&m, send_response, mem, msg, why));
    const cd_plugin_word w = {.kind = CD_PLUGIN_RESPONSE, .request_id = m.request_id, .msg = m.response};
    return hand_on(ctx, &w, &m.node_id, 1, why);
}

static cd_err serve_send_error(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_send_error m = {0};
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&m, send_error, mem, msg, why));
    const cd_plugin_word w = {
        .kind = CD_PLUGIN_REFUSAL, .request_id = m.request_id, .code = m.error_code, .msg = m.error_message};
    return hand_on(ctx, &w, &m.node_id, 1, why);
}

static cd_err serve_send_gossip(void *ctx, cd_buf *out, cd_arena *mem, cd_bytes msg, cd_errinfo *why)
{
    cd_wire_send_gossip m = {0};
    (void)out;
    CD_TRY(CD_WIRE_PARSE(&m, send_gossip, mem, msg, why));
    const cd_plugin_word w = {
        .kind = CD_PLUGIN_GOSSIP,
        .to = {.validators = (u32)cd_min_u64(m.validators, UINT32_MAX),
               .non_validators = (u32)cd_min_u64(m.non_validators, UINT32_MAX),
               .peers = (u32)cd_min_u64(m.peers, UINT32_MAX)},
        .msg = m.msg,
    };
    return hand_on(ctx, &w, m.node_ids.v, m.node_ids.cnt, why);
}

cd_plugin_word *cd_plugin_world_take(cd_plugin_world *w)
{
    cd_mutex_lock(&w->lock);
    cd_plugin_word *first = w->first;
    w->first = NULL;
    w->last = &w->first;
    w->cnt = 0;
    w->bytes = 0;
    cd_mutex_unlock(&w->lock);
    return first;
}

static const cd_plugin_method methods[] = {
    {"/aliasreader.AliasReader/Lookup", serve_lookup},
    {"/aliasreader.AliasReader/PrimaryAlias", serve_primary_alias},
    {"/aliasreader.AliasReader/Aliases", serve_aliases},
    {"/validatorstate.ValidatorState/GetMinimumHeight", serve_minimum},
    {"/validatorstate.ValidatorState/GetCurrentHeight", serve_current},
    {"/validatorstate.ValidatorState/GetSubnetID", serve_subnet},
    {"/validatorstate.ValidatorState/GetNetID", serve_subnet},
    {"/validatorstate.ValidatorState/GetValidatorSet", serve_set},
    {"/validatorstate.ValidatorState/GetCurrentValidatorSet", serve_current_set},
    {"/warp.Signer/Sign", serve_sign},
    {"/appsender.AppSender/SendAppRequest", serve_send_request},
    {"/appsender.AppSender/SendAppResponse", serve_send_response},
    {"/appsender.AppSender/SendAppError", serve_send_error},
    {"/appsender.AppSender/SendAppGossip", serve_send_gossip},
};

const cd_plugin_method *cd_plugin_world_methods(usize *cnt)
{
    *cnt = CD_COUNT(methods);
    return methods;
}

cd_plugin_world *cd_plugin_world_new(const cd_plugin_world_cfg *cfg)
{
    cd_plugin_world *w = cd_new(cd_plugin_world);
    w->cfg = *cfg;
    w->last = &w->first;
    cd_mutex_init(&w->lock);
    return w;
}

void cd_plugin_world_free(cd_plugin_world *w)
{
    if (w == NULL) {
        return;
    }
    for (cd_plugin_word *word = w->first; word != NULL;) {
        cd_plugin_word *next = word->next;
        cd_free(word);
        word = next;
    }
    cd_mutex_fini(&w->lock);
    cd_free(w);
}
