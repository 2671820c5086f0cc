#include "decode/kinds.h"

#include "chains/platform/genesis/genesis.h"
#include "chains/utxo/utxo.h"
#include "crypto/hash/sha2.h"
#include "types/ctx.h"
#include "types/pblock.h"
#include "types/pwarp.h"
#include "types/xtx.h"

static cd__show_fn show_linear;

/* In the order in which bytes are tried: kinds that a type ID tells come first. */
static const cd__kind kinds[] = {
    {"p-tx", show_linear, &cd_p_tx_table, "P", CD__TX},
    {"x-tx", show_linear, &cd_x_tx_table, "X", CD__TX},
    {"c-tx", show_linear, &cd_c_tx_table, "C", CD__TX},
    {"p-block", show_linear, &cd_p_block_table, "P", CD__BLOCK},
    {"x-block", show_linear, &cd_x_block_table, "X", CD__BLOCK},
    {"p-unsigned", show_linear, &cd_p_tx_table, "P", CD__UNSIGNED},
    {"x-unsigned", show_linear, &cd_x_tx_table, "X", CD__UNSIGNED},
    {"c-unsigned", show_linear, &cd_c_tx_table, "C", CD__UNSIGNED},
    {"p-utxo", show_linear, &cd_p_utxo_table, "P", CD__UTXO},
    {"x-utxo", show_linear, &cd_x_utxo_table, "X", CD__UTXO},
    {"c-utxo", show_linear, &cd_c_utxo_table, "C", CD__UTXO},
    {"warp-message", cd__show_warp_message, NULL, NULL, CD__PLAIN},
    {"p-payload", show_linear, &cd_p_payload_table, "P", CD__PLAIN},
    {"warp-payload", cd__show_warp_payload, NULL, NULL, CD__PLAIN},
    {"warp-unsigned", cd__show_warp_unsigned, NULL, NULL, CD__PLAIN},
    {"proposer-block", cd__show_outer, NULL, NULL, CD__BLOCK},
    {"p-conversion", show_linear, &cd_p_conversion_data_table, "P", CD__PLAIN},
    {"p-genesis", cd__show_genesis, &cd_pgenesis_table, "P", CD__PLAIN},
    {"x-genesis", show_linear, &cd_x_genesis_table, "X", CD__PLAIN},
};

const cd__kind *cd__kind_find(const char *name)
{
    for (usize i = 0; i < CD_COUNT(kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

void cd__kind_names(cd_buf *out, usize per_line)
{
    for (usize i = 0; i < CD_COUNT(kinds); i++) {
        const char *lead = i == 0 ? "" : per_line != 0 && i % per_line == 0 ? ",\n" : ", ";
        cd_buf_fmt(out, "%s%s", lead, kinds[i].name);
    }
}

void cd__put_id(cd_json_w *w, const char *key, const cd_hash32 *id)
{
    cd_buf text = {0};
    cd_id_put(&text, id);
    cd_json_put_str(w, key, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

/* --- documents of the linear codec --- */

static void put_names(cd_json_w *w, const cd__kind *k, const void *v, const cd_hash32 *id, cd_bytes b)
{
    if (k->role == CD__TX || k->role == CD__UNSIGNED) {
        cd__signed_tx bare = {.body = ((const cd__signed_tx *)v)->body};
        usize n = cd_linear_size(k->table, &bare) - sizeof(u32); /* without the number of credentials */
        cd_hash32 hash;
        cd_sha256(&hash, cd_bytes_sub(b, 0, n));
        if (k->role == CD__TX) {
            cd__put_id(w, "id", id);
        }
        cd_json_put_u64(w, "type", bare.body.is->id);
        cd_json_put_hash(w, "signingHash", &hash);
    } else if (k->role == CD__BLOCK) {
        cd__put_id(w, "id", id);
        cd_json_put_u64(w, "type", ((const cd_p_block *)v)->body.is->id);
    } else if (k->role == CD__UTXO) {
        const cd_utxo *u = v;
        cd_hash32 input;
        cd_utxo_id(&input, &u->tx_id, u->output_idx);
        cd__put_id(w, "inputID", &input);
    } else if (k->table == &cd_p_payload_table) {
        cd_json_put_u64(w, "type", ((const cd_p_payload *)v)->body.is->id);
        if (((const cd_p_payload *)v)->body.is->id == CD_P_PAYLOAD_REGISTER) {
            cd__put_id(w, "validationID", id);
        }
    } else if (k->table == &cd_p_conversion_data_table) {
        cd__put_id(w, "conversionID", id);
    }
}

static void put_value(cd_json_w *w, const cd__kind *k, const cd_linear_place *place, const void *v, const cd_hash32 *id)
{
    cd_json_w_key(w, "value");
    if (k->role == CD__UNSIGNED) {
        const cd__signed_tx *tx = v;
        cd_linear_json(w, place, tx->body.is->type, tx->body.v);
    } else if (k->table == &cd_p_payload_table) {
        const cd_linear_any *body = &((const cd_p_payload *)v)->body;
        cd_linear_json(w, place, body->is->type, body->v);
    } else if (k->table == &cd_p_tx_table) {
        cd_p_tx_json(w, place, v, id);
    } else if (k->table == &cd_x_tx_table) {
        cd_x_tx_json(w, place, v, id);
    } else if (k->table == &cd_p_block_table) {
        cd_p_block_json(w, place, v, id);
    } else if (k->table == &cd_x_block_table) {
        cd_x_block_json(w, place, v, id);
    } else {
        cd_linear_json(w, place, k->table, v);
    }
}

static cd_err show_linear(cd__show *s, const cd__kind *k, cd_bytes b, cd_errinfo *why)
{
    static const u8 no_credentials[4];
    cd_hash32 id;
    cd_bytes text = b;
    void *v = cd_arena_zalloc(s->mem, k->table->size);
    if (k->role == CD__UNSIGNED) {
        u8 *whole = cd_arena_alloc(s->mem, b.n + sizeof no_credentials);
        memcpy(whole, b.p, b.n);
        memcpy(whole + b.n, no_credentials, sizeof no_credentials);
        text = cd_bytes_of(whole, b.n + sizeof no_credentials);
    }
    CD_TRY(cd_linear_parse(v, k->table, s->mem, text, 0, why));
    if (k->role == CD__UNSIGNED && ((const cd__signed_tx *)v)->creds.cnt != 0) {
        return cd_fail(why, CD_ETRAIL, "credentials stand behind it");
    }
    cd_network net = cd__network_for(s, k, v);
    cd_linear_place place = {.chain = k->chain, .prefix = net.prefix};
    cd_sha256(&id, b);
    put_names(s->w, k, v, &id, b);
    cd_json_put_cstr(s->w, "addressPrefix", net.prefix);
    put_value(s->w, k, &place, v, &id);
    return CD_OK;
}

cd_err cd__show_genesis(cd__show *s, const cd__kind *k, cd_bytes b, cd_errinfo *why)
{
    cd_pgenesis g = {0};
    CD_TRY(cd_pgenesis_read(&g, s->mem, b, why));
    cd_network net = cd__network_for(s, k, &g.state);
    cd_linear_place place = {.chain = k->chain, .prefix = net.prefix};
    cd_json_put_hash(s->w, "hash", &g.hash);
    cd__put_id(s->w, "blockID", &g.block_id);
    cd__put_id(s->w, "assetID", &g.asset_id);
    cd_json_w_key(s->w, "chains");
    cd_json_w_arr(s->w);
    for (usize i = 0; i < g.chain_cnt; i++) {
        cd_json_w_obj(s->w);
        cd_json_put_str(s->w, "name", g.chains[i].name);
        cd__put_id(s->w, "id", &g.chains[i].id);
        cd__put_id(s->w, "vmID", &g.chains[i].vm_id);
        cd_json_w_obj_end(s->w);
    }
    cd_json_w_arr_end(s->w);
    cd_json_put_cstr(s->w, "addressPrefix", net.prefix);
    put_value(s->w, k, &place, &g.state, &g.hash);
    return CD_OK;
}

/* --- any bytes --- */

static cd_err show_members(cd__show *s, const cd__kind *k, cd_bytes b, cd_errinfo *why)
{
    cd_json_put_cstr(s->w, "kind", k->name);
    cd_json_put_u64(s->w, "bytes", b.n);
    return k->show(s, k, b, why);
}

cd_err cd__kind_show(cd__show *s, const cd__kind *k, cd_bytes b, cd_errinfo *why)
{
    usize mark = s->w->out->n;
    bool comma = s->w->comma;
    cd_json_w_obj(s->w);
    cd_err e = show_members(s, k, b, why);
    if (e == CD_OK) {
        cd_json_w_obj_end(s->w);
    } else {
        s->w->out->n = mark;
        s->w->comma = comma;
    }
    return e;
}

/* Can bytes be read as a kind? */
static bool is_kind(const cd__show *s, const cd__kind *k, cd_bytes b)
{
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    cd__show trial = *s;
    trial.w = &w;
    bool is = cd__kind_show(&trial, k, b, NULL) == CD_OK;
    cd_buf_fini(&text);
    return is;
}

/* Fails with what the first kind that knows the type ID of the bytes finds wrong with them. */
static cd_err nothing_known(cd__show *s, cd_bytes b, cd_errinfo *why)
{
    for (usize i = 0; i < CD_COUNT(kinds); i++) {
        cd_errinfo one = {0};
        cd_err e = cd__kind_show(s, &kinds[i], b, &one);
        if (e != CD_ETYPE && e != CD_EVERSION) {
            return cd_fail(why, CD_EFORMAT,
                           "%zu bytes that are no kind known here (--as=KIND says what they should be); as %s: %s", b.n,
                           kinds[i].name, one.msg);
        }
    }
    return cd_fail(why, CD_EFORMAT, "%zu bytes that are no kind known here: no type ID of theirs fits", b.n);
}

cd_err cd__bytes_show(cd__show *s, cd_bytes b, cd_errinfo *why)
{
    usize first = 0;
    while (first < CD_COUNT(kinds) && !is_kind(s, &kinds[first], b)) {
        first++;
    }
    if (first == CD_COUNT(kinds)) {
        return nothing_known(s, b, why);
    }
    cd_json_w_obj(s->w);
    CD_TRY(show_members(s, &kinds[first], b, why));
    cd_json_w_key(s->w, "alternatives");
    cd_json_w_arr(s->w);
    for (usize i = first + 1; i < CD_COUNT(kinds); i++) {
        if (is_kind(s, &kinds[i], b)) {
            cd_json_w_cstr(s->w, kinds[i].name);
        }
    }
    cd_json_w_arr_end(s->w);
    cd_json_w_obj_end(s->w);
    return CD_OK;
}
