#include "chains/wallet/draft.h"

#include "chains/utxo/fx.h"
#include "codec/api_json.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/sha2.h"
#include "types/ctx.h"
#include "types/network.h"
#include "types/xtx.h"

static const cd_wallet_chain chains[] = {
    {"P", "platform", &cd_p_tx_table, &cd_p_utxo_table, 64 << 10},
    {"X", "avm", &cd_x_tx_table, &cd_x_utxo_table, 64 << 10},
    {"C", "avax", &cd_c_tx_table, &cd_c_utxo_table, 64 << 10},
};

const cd_wallet_chain *cd_wallet_chain_find(cd_bytes name)
{
    for (usize i = 0; i < CD_COUNT(chains); i++) {
        if (cd_bytes_eq(name, cd_bytes_str(chains[i].name))) {
            return &chains[i];
        }
    }
    return NULL;
}

void cd_wallet_slots_add(cd_wallet_draft *d, cd_arena *a, const cd_wallet_slot *more, u32 cnt)
{
    cd_wallet_slot *all = cd_arena_array(a, cd_wallet_slot, (usize)d->slot_cnt + cnt);
    if (d->slot_cnt != 0) {
        memcpy(all, d->slots, d->slot_cnt * sizeof *all);
    }
    for (u32 i = 0; i < cnt; i++) {
        all[d->slot_cnt + i] = more[i];
        all[d->slot_cnt + i].sigs = cd_arena_array(a, cd_signature, more[i].cnt);
    }
    d->slots = all;
    d->slot_cnt += cnt;
}

/* --- bytes --- */

/* A transaction of any chain, and room for its credentials. */
typedef struct whole {
    cd_linear_any body;
    cd_linear_list creds;
} whole;

/* Makes the list of credentials. All have one form, so each gets a case with the type ID of its slot. */
static void make_creds(cd_linear_list *out, cd_arena *a, const cd_wallet_draft *d, cd_linear_case *cases)
{
    cd_linear_any *v = cd_arena_array(a, cd_linear_any, d->slot_cnt);
    cd_credential *creds = cd_arena_array(a, cd_credential, d->slot_cnt);
    for (u32 i = 0; i < d->slot_cnt; i++) {
        creds[i].sigs = (cd_linear_list){.v = d->slots[i].sigs, .cnt = d->slots[i].cnt};
        cases[i] = (cd_linear_case){.id = d->slots[i].type, .type = &cd_credential_type};
        v[i] = (cd_linear_any){.is = &cases[i], .v = &creds[i]};
    }
    *out = (cd_linear_list){.v = v, .cnt = d->slot_cnt};
}

static void put(cd_buf *out, const cd_wallet_draft *d)
{
    cd_arena a = {0};
    whole tx = {.body = d->body};
    make_creds(&tx.creds, &a, d, cd_arena_array(&a, cd_linear_case, (usize)d->slot_cnt + 1));
    cd_linear_put(out, d->chain->tx_table, &tx);
    cd_arena_fini(&a);
}

/* The number of bytes behind what is signed: the count of credentials, and the credentials. */
static usize creds_size(const cd_wallet_draft *d)
{
    usize n = 4;
    for (u32 i = 0; i < d->slot_cnt; i++) {
        n += 4 + 4 + (usize)d->slots[i].cnt * sizeof(cd_signature);
    }
    return n;
}

void cd_wallet_bytes(cd_buf *out, const cd_wallet_draft *d)
{
    put(out, d);
}

void cd_wallet_unsigned(cd_buf *out, const cd_wallet_draft *d)
{
    put(out, d);
    out->n -= creds_size(d);
}

void cd_wallet_id(cd_hash32 *out, const cd_wallet_draft *d)
{
    cd_buf bytes = {0};
    put(&bytes, d);
    cd_sha256(out, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
}

/* --- signatures --- */

static bool is_given(const cd_signature *s)
{
    static const cd_signature none;
    return memcmp(s, &none, sizeof none) != 0;
}

const cd_addr20 *cd_wallet_missing(const cd_wallet_draft *d)
{
    for (u32 i = 0; i < d->slot_cnt; i++) {
        for (u32 k = 0; k < d->slots[i].cnt; k++) {
            if (!is_given(&d->slots[i].sigs[k])) {
                return &d->slots[i].signers[k];
            }
        }
    }
    return NULL;
}

static u32 fill(cd_wallet_draft *d, const cd_addr20 *addr, const cd_signature *sig)
{
    u32 given = 0;
    for (u32 i = 0; i < d->slot_cnt; i++) {
        for (u32 k = 0; k < d->slots[i].cnt; k++) {
            if (cd_addr20_eq(&d->slots[i].signers[k], addr)) {
                d->slots[i].sigs[k] = *sig;
                given++;
            }
        }
    }
    return given;
}

cd_err cd_wallet_sign(cd_wallet_draft *d, u32 *given, const u8 (*secrets)[32], usize cnt)
{
    cd_buf bytes = {0};
    cd_hash32 hash;
    cd_err e = CD_OK;
    *given = 0;
    cd_wallet_unsigned(&bytes, d);
    cd_fx_hash(&hash, cd_buf_bytes(&bytes));
    cd_buf_fini(&bytes);
    for (usize i = 0; i < cnt && e == CD_OK; i++) {
        u8 pub[64];
        cd_addr20 addr;
        cd_signature sig;
        e = cd_secp256k1_pub(pub, secrets[i]);
        e = e != CD_OK ? e : cd_fx_sign(&sig, &hash, &secrets[i], 1);
        if (e == CD_OK) {
            cd_secp256k1_short_addr(&addr, pub);
            *given += fill(d, &addr, &sig);
        }
    }
    return e;
}

/* --- JSON --- */

void cd_wallet_draft_json(cd_json_w *w, const cd_wallet_draft *d, const char *prefix)
{
    cd_buf bytes = {0};
    cd_wallet_unsigned(&bytes, d);
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "chain", d->chain->name);
    cd_json_put_u64(w, "networkID", d->network_id);
    cd_json_put_hex(w, "unsigned", cd_buf_bytes(&bytes));
    cd_json_w_key(w, "credentials");
    cd_json_w_arr(w);
    for (u32 i = 0; i < d->slot_cnt; i++) {
        const cd_wallet_slot *s = &d->slots[i];
        cd_json_w_obj(w);
        cd_json_put_u64(w, "type", s->type);
        cd_json_w_key(w, "signers");
        cd_json_w_arr(w);
        for (u32 k = 0; k < s->cnt; k++) {
            cd_json_w_chain_addr(w, d->chain->name, prefix, &s->signers[k]);
        }
        cd_json_w_arr_end(w);
        cd_json_w_key(w, "signatures");
        cd_json_w_arr(w);
        for (u32 k = 0; k < s->cnt; k++) {
            if (is_given(&s->sigs[k])) {
                cd_json_w_hex(w, cd_bytes_of(s->sigs[k].b, sizeof s->sigs[k].b));
            } else {
                cd_json_w_null(w);
            }
        }
        cd_json_w_arr_end(w);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
    cd_buf_fini(&bytes);
}

static cd_err read_slot(cd_wallet_slot *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    cd_json signers = cd_json_get(v, "signers");
    cd_json sigs = cd_json_get(v, "signatures");
    u64 type;
    usize cnt = cd_json_len(signers);
    CD_TRY(cd_json_u64(&type, cd_json_get(v, "type"), why));
    CD_TRY(cd_json_arr(signers, why));
    if (cnt > CD_WALLET_SIGNERS_MAX || type > UINT32_MAX || cd_json_len(sigs) != cnt) {
        return cd_json_fail(v, CD_EFORMAT, "signers and signatures are not as many", why);
    }
    cd_addr20 *addrs = cd_arena_array(a, cd_addr20, cnt);
    *out = (cd_wallet_slot){.type = (u32)type, .cnt = (u32)cnt, .signers = addrs};
    out->sigs = cd_arena_array(a, cd_signature, cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_bytes text;
        cd_chain_addr addr;
        cd_json sig = cd_json_at(sigs, i);
        CD_TRY(cd_json_str(&text, cd_json_at(signers, i), why));
        CD_TRY(cd_chain_addr_parse(&addr, text, why));
        addrs[i] = addr.addr;
        if (cd_json_has(sig)) {
            CD_TRY(cd_json_fixed(out->sigs[i].b, sizeof out->sigs[i].b, sig, why));
        }
    }
    return CD_OK;
}

/* Reads the body out of what is signed, to which an empty list of credentials is added. */
static cd_err read_body(cd_wallet_draft *d, cd_arena *a, cd_bytes unsigned_bytes, cd_errinfo *why)
{
    static const u8 none[4] = {0};
    cd_buf all = {0};
    whole tx = {0};
    cd_buf_put(&all, unsigned_bytes);
    cd_buf_put(&all, cd_bytes_of(none, sizeof none));
    cd_err e = cd_linear_parse(&tx, d->chain->tx_table, a, cd_arena_dup(a, cd_buf_bytes(&all)), 0, why);
    cd_buf_fini(&all);
    d->body = tx.body;
    return e;
}

cd_err cd_wallet_draft_read(cd_wallet_draft *out, cd_arena *a, cd_json v, cd_errinfo *why)
{
    cd_wallet_draft d = {0};
    cd_bytes name;
    cd_bytes bytes;
    u64 network;
    cd_json slots = cd_json_get(v, "credentials");
    CD_TRY(cd_json_obj(v, why));
    CD_TRY(cd_json_str(&name, cd_json_get(v, "chain"), why));
    CD_TRY(cd_json_u64(&network, cd_json_get(v, "networkID"), why));
    CD_TRY(cd_json_hex(&bytes, a, cd_json_get(v, "unsigned"), why));
    CD_TRY(cd_json_arr(slots, why));
    d.chain = cd_wallet_chain_find(name);
    if (d.chain == NULL || network > UINT32_MAX) {
        return cd_json_fail(v, CD_EFORMAT, "chain and networkID are of no chain that is known", why);
    }
    if (cd_json_len(slots) > CD_WALLET_SLOTS_MAX) {
        return cd_json_fail(slots, CD_ELIMIT, "too many credentials", why);
    }
    d.network_id = (u32)network;
    d.slot_cnt = (u32)cd_json_len(slots);
    d.slots = cd_arena_array(a, cd_wallet_slot, d.slot_cnt);
    u32 i = 0;
    for (cd_json_it it = cd_json_iter(slots); cd_json_next(&it);) {
        CD_TRY(read_slot(&d.slots[i++], a, it.val, why));
    }
    CD_TRY(read_body(&d, a, bytes, why));
    *out = d;
    return CD_OK;
}
