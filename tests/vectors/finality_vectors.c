/* Certificates over the message that the public code signed: bytes, sums, what the verifier says. [spec:finality#2] */
#include "tests/vectors/curves.h"

#include "base/mem/mem.h"
#include "crypto/hash/sha2.h"
#include "finality/cert/verify.h"

enum { VALIDATORS = 5 };

/* The vector's validators, in the order that it has them (which is not that of a real set: see set_order), its group
 * and its signatures. */
typedef struct world {
    vec *v;
    cd_json doc;
    cd_json ringtail;
    cd_hash32 chain;
    cd_fin_validator validators[VALIDATORS];
    cd_bls_sig shares[VALIDATORS];
    u8 nodes[VALIDATORS * CD_FIN_NODE_BYTES];
    cd_fin_set set;
    cd_rt_key *group;
    cd_buf lattice;
    cd_fin_room *room;
    cd_bytes bls;
    cd_fin_cert cert; /* without a body */
} world;

static cd_bytes of_doc(world *w, const char *key)
{
    return hex_of(w->v, w->doc, key);
}

static u64 number_of(cd_json j, const char *key)
{
    u64 out = 0;
    (void)!cd_json_u64(&out, cd_json_get(j, key), NULL);
    return out;
}

static void read_validators(world *w)
{
    cd_json_it it = cd_json_iter(cd_json_get(w->doc, "validators"));
    for (u32 i = 0; i < VALIDATORS && cd_json_next(&it); i++) {
        cd_fin_validator *val = &w->validators[i];
        cd_bytes id = cd_bytes_str(text_of(w->v, it.val, "node_id"));
        vec_check(w->v, cd_node_id_parse(&val->node, id, NULL) == CD_OK, "node ID %u", i);
        vec_check(w->v, cd_bls_pk_dec(&val->bls, hex_of(w->v, it.val, "bls_public")) == CD_OK, "key %u", i);
        vec_check(w->v, cd_bls_sig_dec(&w->shares[i], hex_of(w->v, it.val, "bls_signature")) == CD_OK, "share %u", i);
        val->weight = number_of(it.val, "weight");
        w->set.total += val->weight;
        memcpy(w->nodes + (usize)i * CD_FIN_NODE_BYTES, val->node.b, CD_FIN_NODE_BYTES);
    }
    w->validators[0].mldsa = hex_of(w->v, cd_json_get(w->doc, "mldsa65"), "public_key").p;
    w->set.cnt = VALIDATORS;
    w->set.validators = w->validators;
    w->set.until = UINT64_MAX;
}

static void read_group(world *w)
{
    cd_json group = cd_json_get(w->ringtail, "group_key");
    cd_json parts = cd_json_get(w->ringtail, "signature");
    cd_rt_sig *sig = &w->room->sig;
    cd_buf text = {0};
    cd_buf_put(&text, hex_of(w->v, group, "A_writeTo_hex"));
    cd_buf_put(&text, hex_of(w->v, group, "b_tilde_writeTo_hex"));
    vec_check(w->v, cd_rt_key_read(w->group, cd_buf_bytes(&text)) == CD_OK, "the group's key");
    cd_buf_fini(&text);
    cd_rd c = cd_rd_init(hex_of(w->v, parts, "c_marshal_hex"));
    cd_rd z = cd_rd_init(hex_of(w->v, parts, "z_writeTo_hex"));
    cd_rd delta = cd_rd_init(hex_of(w->v, parts, "delta_writeTo_hex"));
    cd_lpoly_read(&c, &sig->c);
    cd_lpoly_vec_read(&z, sig->z, CD_RT_COLS);
    cd_lpoly_vec_read(&delta, sig->delta, CD_RT_ROWS);
    cd_rt_sig_put(&w->lattice, sig);
    w->set.group = w->group;
}

static void read_message(world *w)
{
    memcpy(w->chain.b, hex_of(w->v, cd_json_get(w->doc, "certificate"), "chain_id").p, 32);
    w->bls = of_doc(w, "bls_aggregate");
    w->cert = (cd_fin_cert){.chain = w->chain,
                            .total = number_of(w->doc, "total_weight"),
                            .signed_by = number_of(w->doc, "signer_weight"),
                            .bits = of_doc(w, "signer_bitset_lsb_first")};
    cd_fin_msg_dec(&w->cert.msg, of_doc(w, "message_hex").p);
    vec_check(w->v, w->cert.total == w->set.total, "the weight of all");
}

/* Those whose share is in the aggregate. */
static void aggregate(world *w)
{
    cd_bls_sig sigs[VALIDATORS];
    cd_bls_sig sum;
    u8 out[CD_BLS_SIG_LEN];
    u32 cnt = 0;
    cd_bytes msg = of_doc(w, "message_hex");
    for (u32 i = 0; i < VALIDATORS; i++) {
        vec_check(w->v, cd_bls_verify(&w->shares[i], CD_BLS_POP, msg, &w->validators[i].bls), "share %u is good", i);
        if (cd_fin_bit(w->cert.bits, i)) {
            sigs[cnt++] = w->shares[i];
        }
    }
    vec_check(w->v, cd_bls_agg_sigs(&sum, sigs, cnt) == CD_OK, "the sum");
    cd_bls_sig_enc(out, &sum);
    vec_check(w->v, cd_bytes_eq(w->bls, cd_bytes_of(out, sizeof out)), "the aggregate");
}

static void has_hash(world *w, cd_bytes bytes, const char *name)
{
    cd_json expected = cd_json_get(w->doc, "certificate");
    cd_hash32 hash;
    cd_sha256(&hash, bytes);
    vec_check(w->v, bytes.n == number_of(expected, cd_arena_fmt(&w->v->arena, "%s_len", name)), "%s: length", name);
    cd_bytes want = hex_of(w->v, expected, cd_arena_fmt(&w->v->arena, "%s_sha256", name));
    vec_check(w->v, cd_bytes_eq(want, cd_bytes_of(hash.b, 32)), "%s: bytes", name);
}

/* Puts a certificate together; it must come apart into the same one, and be what the verifier is expected to say. */
static void round_trip(world *w, const cd_fin_cert *cert, const char *name, cd_fin_flaw want)
{
    cd_buf bytes = {0};
    cd_buf again = {0};
    cd_fin_cert read;
    cd_fin_cert_put(&bytes, cert);
    if (cert->type == CD_FIN_BLS) {
        cd_bytes expected = hex_of(w->v, cd_json_get(w->doc, "certificate"), "type0_hex");
        vec_check(w->v, cd_bytes_eq(expected, cd_buf_bytes(&bytes)), "%s: bytes", name);
    } else if (cert->type != CD_FIN_LATTICE) {
        has_hash(w, cd_buf_bytes(&bytes), name);
    }
    cd_fin_flaw got = cd_fin_verify_bytes(&read, cd_buf_bytes(&bytes), &w->set, &w->chain, w->room);
    vec_check(w->v, got == want, "%s: %s", name, cd_fin_flaw_text(got));
    cd_fin_cert_put(&again, &read);
    vec_check(w->v, cd_bytes_eq(cd_buf_bytes(&again), cd_buf_bytes(&bytes)), "%s: again", name);
    cd_buf_fini(&bytes);
    cd_buf_fini(&again);
}

static void certificates(world *w)
{
    cd_fin_cert c = w->cert;
    c.type = CD_FIN_BLS;
    c.bls = w->bls;
    round_trip(w, &c, "type0", CD_FLAW_NONE);

    c.type = CD_FIN_BOTH;
    c.parties = cd_bytes_of(w->nodes, sizeof w->nodes);
    c.lattice = cd_buf_bytes(&w->lattice);
    round_trip(w, &c, "type2", CD_FLAW_NONE);

    static const u8 everybody[1] = {0x1f};
    c.type = CD_FIN_LATTICE;
    c.bls = (cd_bytes){0};
    c.bits = cd_bytes_of(everybody, 1);
    c.signed_by = c.total;
    round_trip(w, &c, "type1", CD_FLAW_NONE);

    /* the vector's has one signature, of validator 0, who weighs little */
    cd_buf one = {0};
    cd_buf_put(&one, cd_bytes_of(w->nodes, CD_FIN_NODE_BYTES));
    cd_buf_put(&one, hex_of(w->v, cd_json_get(w->doc, "mldsa65"), "signature_no_ctx_deterministic"));
    c = w->cert;
    c.type = CD_FIN_MLDSA;
    c.bls = w->bls;
    c.mldsa = cd_buf_bytes(&one);
    round_trip(w, &c, "type3", CD_FLAW_MLDSA_QUORUM);
    cd_buf_fini(&one);
}

/* The body of type 2, and that of type 1 in it, have sums of their own. */
static void bodies(world *w)
{
    cd_buf body = {0};
    cd_hash32 hash;
    cd_put_be32(cd_buf_extend(&body, 4), VALIDATORS);
    cd_buf_put(&body, cd_bytes_of(w->nodes, sizeof w->nodes));
    cd_buf_put(&body, cd_buf_bytes(&w->lattice));
    cd_sha256(&hash, cd_buf_bytes(&body));
    vec_check(w->v, body.n == number_of(w->ringtail, "node_encoding_len"), "type 1 body: length");
    vec_check(w->v, cd_bytes_eq(hex_of(w->v, w->ringtail, "node_encoding_sha256"), cd_bytes_of(hash.b, 32)),
              "type 1 body: bytes");
    cd_buf_fini(&body);
}

/* A real set is in the order of its node IDs, which that of the vector is not. */
static void set_order(world *w)
{
    vec_check(w->v, !cd_fin_set_is_good(&w->set), "the vector's set is out of order");
    for (u32 i = 0; i < VALIDATORS; i++) {
        for (u32 k = 1; k < VALIDATORS; k++) {
            cd_fin_validator *a = &w->validators[k - 1];
            if (memcmp(a[0].node.b, a[1].node.b, sizeof a->node.b) > 0) {
                cd_fin_validator t = a[0];
                a[0] = a[1];
                a[1] = t;
            }
        }
    }
    vec_check(w->v, cd_fin_set_is_good(&w->set), "sorted it is good");
    w->set.total++;
    vec_check(w->v, !cd_fin_set_is_good(&w->set), "its total is that of its weights");
}

int main(void)
{
    vec v = {0};
    world *w = cd_new(world);
    w->v = &v;
    w->group = cd_new(cd_rt_key);
    w->room = cd_new(cd_fin_room);
    if (vec_json(&v, &w->doc, vec_path(&v, "p2p/finality.json")) &&
        vec_json(&v, &w->ringtail, vec_path(&v, "p2p/ringtail_4of5.json"))) {
        read_validators(w);
        read_group(w);
        read_message(w);
        aggregate(w);
        certificates(w);
        bodies(w);
        set_order(w);
    }
    cd_buf_fini(&w->lattice);
    cd_free(w->group);
    cd_free(w->room);
    cd_free(w);
    return vec_end(&v);
}
