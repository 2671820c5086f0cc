#include "finality/finality_show.h"

#include "base/mem/mem.h"
#include "codec/api_json.h"

const char *const cd__fin_types[] = {"BLS", "threshold", "BLS and threshold", "BLS and ML-DSA"};

static u64 bits_set(cd_bytes bits)
{
    u64 cnt = 0;
    for (usize i = 0; i < bits.n * 8; i++) {
        cnt += cd_fin_bit(bits, i);
    }
    return cnt;
}

static void put_nodes(cd_json_w *w, const char *key, cd_bytes list, usize size)
{
    cd_json_w_key(w, key);
    cd_json_w_arr(w);
    for (usize at = 0; at < list.n; at += size) {
        cd_node_id node;
        memcpy(node.b, list.p + at, sizeof node.b);
        cd_json_w_node_id(w, &node);
    }
    cd_json_w_arr_end(w);
}

void cd__fin_cert_put(cd_json_w *w, const cd_fin_cert *c)
{
    cd_json_put_u64(w, "type", c->type);
    cd_json_put_cstr(w, "signatures", cd__fin_types[c->type]);
    cd_json_put_id(w, "chainID", &c->chain);
    cd_json_put_id(w, "blockID", &c->msg.block);
    cd_json_put_hash(w, "blockHash", &c->msg.block);
    cd_json_put_u64(w, "pChainHeight", c->msg.height);
    cd_json_put_time(w, "time", c->msg.time_ns);
    cd_json_put_dec(w, "totalWeight", c->total);
    cd_json_put_dec(w, "signerWeight", c->signed_by);
    cd_json_put_u64(w, "signers", bits_set(c->bits));
    cd_json_put_hex(w, "signerBits", c->bits);
    if (c->parties.n != 0) {
        put_nodes(w, "parties", c->parties, CD_FIN_NODE_BYTES);
    }
    if (c->mldsa.n != 0) {
        put_nodes(w, "mldsaSigners", c->mldsa, CD_FIN_MLDSA_BYTES);
    }
}

static void put_validators(cd_json_w *w, const cd_fin_set *set)
{
    cd_json_w_key(w, "validators");
    cd_json_w_arr(w);
    for (u32 i = 0; i < set->cnt; i++) {
        const cd_fin_validator *v = &set->validators[i];
        u8 bls[CD_BLS_PK_LEN];
        cd_bls_pk_enc(bls, &v->bls);
        cd_json_w_obj(w);
        cd_json_put_node_id(w, "nodeID", &v->node);
        cd_json_put_dec(w, "weight", v->weight);
        cd_json_put_hex(w, "bls", cd_bytes_of(bls, sizeof bls));
        cd_json_put_bool(w, "mldsa", v->mldsa != NULL);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
}

static void put_book(cd_json_w *w, const cd_fin_book *b)
{
    cd_json_put_hash(w, "checkpoint", &b->sum);
    cd_json_put_u64(w, "networkID", b->epoch.network);
    cd_json_put_u64(w, "epoch", b->epoch.number);
    cd_json_put_hash(w, "epochID", &b->id);
    cd_json_put_u64(w, "pChainHeight", b->epoch.set.from);
    cd_json_put_dec(w, "totalWeight", b->epoch.set.total);
    cd_json_put_hash(w, "thresholdKeyID", &b->epoch.group_id);
    cd_json_put_bool(w, "thresholdKey", b->epoch.set.group != NULL);
    put_validators(w, &b->epoch.set);
    cd_json_w_key(w, "chains");
    cd_json_w_obj(w);
    for (u32 i = 0; i < b->chain_cnt; i++) {
        cd_json_w_key_str(w, cd_bytes_str(b->chains[i].name));
        cd_json_w_id(w, &b->chains[i].id);
    }
    cd_json_w_obj_end(w);
}

static cd_err put_changes(cd_json_w *w, cd_rd *list, cd_errinfo *why)
{
    cd_fin_change c;
    cd_fin_cert cert;
    cd_json_w_key(w, "changes");
    cd_json_w_arr(w);
    while (cd_fin_change_next(&c, list)) {
        cd_json_w_obj(w);
        cd_json_put_u64(w, "base", c.base);
        cd_json_put_u64(w, "epoch", c.number);
        cd_json_put_u64(w, "pChainHeight", c.from);
        cd_json_w_key(w, "certificate");
        cd_fin_flaw flaw = cd_fin_cert_parse(&cert, c.cert);
        if (flaw != CD_FLAW_NONE) {
            return cd_fail(why, CD_EFORMAT, "change to epoch %llu: %s", (unsigned long long)c.number,
                           cd_fin_flaw_text(flaw));
        }
        cd_json_w_obj(w);
        cd__fin_cert_put(w, &cert);
        cd_json_w_obj_end(w);
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    return list->err == CD_OK ? CD_OK : cd_fail(why, CD_ESHORT, "%s", cd_fin_flaw_text(CD_FLAW_CHANGES));
}

cd_err cd__fin_book_open(cd_fin_book **out, cd_bytes checkpoint, cd_errinfo *why)
{
    void *memory = cd_alloc_aligned(16, cd_fin_book_bytes(CD_FIN_VALIDATORS_MAX));
    cd_fin_book *b = cd_fin_book_init(memory, CD_FIN_VALIDATORS_MAX);
    cd_fin_flaw flaw = cd_fin_book_open(b, checkpoint);
    if (flaw != CD_FLAW_NONE) {
        cd_free(memory);
        return cd_fail(why, CD_EFORMAT, "the checkpoint is refused: %s", cd_fin_flaw_text(flaw));
    }
    *out = b;
    return CD_OK;
}

cd_err cd__fin_show(cd_json_w *w, cd_bytes b, cd_errinfo *why)
{
    cd_fin_cert cert;
    cd_rd list;
    cd_err e = CD_OK;
    cd_json_w_obj(w);
    if (cd_fin_checkpoint_cnt(b) != 0) {
        cd_fin_book *book = NULL;
        CD_TRY(cd__fin_book_open(&book, b, why));
        cd_json_put_cstr(w, "kind", "checkpoint");
        put_book(w, book);
        cd_free(book);
    } else if (cd_fin_changes_open(&list, b)) {
        cd_json_put_cstr(w, "kind", "changes");
        e = put_changes(w, &list, why);
    } else {
        cd_fin_flaw flaw = cd_fin_cert_parse(&cert, b);
        if (flaw != CD_FLAW_NONE) {
            return cd_fail(why, CD_EFORMAT, "neither a checkpoint nor set changes, and no certificate: %s",
                           cd_fin_flaw_text(flaw));
        }
        cd_json_put_cstr(w, "kind", "certificate");
        cd__fin_cert_put(w, &cert);
    }
    cd_json_w_obj_end(w);
    return e;
}
