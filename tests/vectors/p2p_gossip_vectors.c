/* testdata/p2p: signed_ips.json (preimages, gossip IDs, both signatures, made again where they are deterministic),
 * bloom.json (filters built and probed, sizes), sdk_payloads.json (handlers and bodies, read and written). */
#include "vec.h"

#include "p2p/ip.h"
#include "p2p/sdk.h"

static cd_bytes hex_of(vec *v, cd_json row, const char *key)
{
    cd_bytes b = {0};
    vec_check(v, cd_json_hex(&b, &v->arena, cd_json_get(row, key), NULL) == CD_OK, "%s: bad hex", key);
    return b;
}

static cd_bytes str_of(cd_json row, const char *key)
{
    cd_bytes s = {0};
    (void)!cd_json_str(&s, cd_json_get(row, key), NULL);
    return s;
}

static u32 num_of(cd_json row, const char *key)
{
    u64 n = 0;
    (void)!cd_json_u64(&n, cd_json_get(row, key), NULL);
    return (u32)n;
}

/* The row of certs.json whose node this is. */
static cd_json cert_of(cd_json certs, cd_bytes node)
{
    cd_json_it it = cd_json_iter(cd_json_get(certs, "valid"));
    while (cd_json_next(&it)) {
        if (cd_bytes_eq(str_of(it.val, "node_id"), node)) {
            return it.val;
        }
    }
    return (cd_json){0};
}

static void check_ip(vec *v, cd_json row, cd_json certs)
{
    cd_json cert_row = cert_of(certs, str_of(row, "node_id"));
    cd_bytes addr = str_of(row, "addr");
    const char *name = cd_arena_str(&v->arena, addr);
    cd_p2p_identity id = {.key = NULL};
    cd_p2p_signed_ip made = {.timestamp = 0};
    cd_p2p_ip ip;
    cd_p2p_ip back;
    cd_cert cert;
    cd_bls_pk pk;
    cd_bls_sig sig;
    u8 preimage[CD_P2P_IP_PREIMAGE_LEN];
    char text[CD_P2P_IP_TEXT_MAX];
    cd_hash32 gossip_id;
    u64 timestamp = num_of(row, "timestamp");
    vec_check(v, cd_p2p_ip_parse(&ip, addr) == CD_OK, "%s is read", name);
    cd_p2p_ip_fmt(text, &ip);
    vec_check(v, cd_bytes_eq(cd_bytes_str(text), addr), "%s is written as %s", name, text);
    vec_check(v, cd_p2p_ip_dec(&back, cd_p2p_ip_wire(&ip), ip.port) == CD_OK && cd_p2p_ip_eq(&back, &ip),
              "%s on the wire", name);
    cd_p2p_ip_preimage(preimage, &ip, timestamp);
    vec_check(v, cd_bytes_eq(cd_bytes_of(preimage, sizeof preimage), hex_of(v, row, "preimage_hex")), "%s: preimage",
              name);
    vec_check(v, cd_cert_parse(&cert, hex_of(v, cert_row, "der_hex"), NULL) == CD_OK, "%s: certificate", name);
    cd_bytes tls_sig = hex_of(v, row, "tls_sig_hex");
    cd_bytes bls_sig = hex_of(v, row, "bls_sig_hex");
    vec_check(v, cd_p2p_ip_check(&cert, &ip, timestamp, tls_sig, NULL) == CD_OK, "%s: signature", name);
    vec_check(v, cd_p2p_ip_check(&cert, &ip, timestamp + 1, tls_sig, NULL) == CD_ESIG, "%s: of another time", name);
    vec_check(v,
              cd_bls_pk_dec(&pk, hex_of(v, row, "bls_public_hex")) == CD_OK && cd_bls_sig_dec(&sig, bls_sig) == CD_OK,
              "%s: BLS", name);
    vec_check(v, cd_p2p_ip_check_bls(&pk, &ip, timestamp, &sig), "%s: BLS signature", name);
    vec_check(v, !cd_p2p_ip_check_bls(&pk, &ip, timestamp + 1, &sig), "%s: BLS signature of another time", name);
    cd_p2p_ip_gossip_id(&gossip_id, &cert.node_id, timestamp);
    vec_check(v, cd_bytes_eq(cd_bytes_of(gossip_id.b, 32), hex_of(v, row, "gossip_id_hex")), "%s: gossip ID", name);
    vec_check(v,
              cd_p2p_identity_of(&id, str_of(cert_row, "cert_pem"), str_of(cert_row, "key_pem"),
                                 hex_of(v, cert_row, "bls_secret_hex"), NULL) == CD_OK,
              "%s: identity", name);
    cd_p2p_ip_sign(&made, &id, &ip, timestamp);
    vec_check(v, cd_bytes_eq(cd_bytes_of(made.bls_sig, sizeof made.bls_sig), bls_sig), "%s: own BLS signature", name);
    vec_check(v, cert.kind != CD_CERT_RSA || cd_bytes_eq(cd_buf_bytes(&made.sig), tls_sig), "%s: own RSA signature",
              name);
    vec_check(v, cd_p2p_ip_check(&cert, &ip, timestamp, cd_buf_bytes(&made.sig), NULL) == CD_OK, "%s: own signature",
              name);
    cd_p2p_signed_ip_fini(&made);
    cd_p2p_identity_close(&id);
}

static void check_filter(vec *v, cd_json row)
{
    cd_bytes want = hex_of(v, row, "filter_hex");
    cd_bytes salt = hex_of(v, row, "salt");
    cd_p2p_bloom_view f = {.seeds = {.n = 0}};
    vec_check(v, cd_p2p_bloom_parse(&f, want, NULL) == CD_OK, "the filter is read");
    vec_check(v, f.seeds.n == 8 * (usize)num_of(row, "num_hashes") && f.entries.n == num_of(row, "num_entries"),
              "its sizes");
    u8 *entries = cd_arena_zalloc(&v->arena, f.entries.n);
    cd_json_it key = cd_json_iter(cd_json_get(row, "added_keys"));
    cd_json_it hash = cd_json_iter(cd_json_get(row, "hashes"));
    while (cd_json_next(&key) && cd_json_next(&hash)) {
        cd_bytes k = {0};
        cd_bytes h = {0};
        vec_check(v,
                  cd_json_hex(&k, &v->arena, key.val, NULL) == CD_OK &&
                      cd_json_hex(&h, &v->arena, hash.val, NULL) == CD_OK,
                  "hex");
        u64 got = cd_p2p_bloom_hash(k, salt);
        vec_check(v, got == cd_be64(h.p), "hash");
        cd_p2p_bloom_set(entries, f.entries.n, f.seeds, got);
    }
    vec_check(v, cd_bytes_eq(cd_bytes_of(entries, f.entries.n), f.entries), "the filter built again");
    cd_json_it it = cd_json_iter(cd_json_get(row, "probes"));
    while (cd_json_next(&it)) {
        bool is_in = false;
        (void)!cd_json_bool(&is_in, cd_json_get(it.val, "contains"), NULL);
        vec_check(v, cd_p2p_bloom_has(&f, cd_p2p_bloom_hash(hex_of(v, it.val, "key"), salt)) == is_in, "probe");
    }
}

static void check_size(vec *v, cd_json row)
{
    double p = 0;
    u32 hashes;
    u32 entries;
    (void)!cd_json_f64(&p, cd_json_get(row, "fp"), NULL);
    cd_p2p_bloom_size(&hashes, &entries, num_of(row, "count"), p);
    vec_check(v, hashes == num_of(row, "num_hashes") && entries == num_of(row, "num_entries"),
              "%u keys at %g: %u hashes, %u bytes", num_of(row, "count"), p, hashes, entries);
    u32 fill = cd_p2p_bloom_fill(hashes, entries, 0.01);
    vec_check(v, fill == num_of(row, "estimate_count_at_0.01"), "%u keys at %g: full at %u", num_of(row, "count"), p,
              fill);
}

static const struct {
    const char *name;
    const cd_proto_type *table;
} bodies[] = {{"PullGossipRequest", &cd_p2p_pull_table},
              {"PullGossipResponse", &cd_p2p_gossip_table},
              {"PushGossip", &cd_p2p_gossip_table},
              {"SignatureRequest", &cd_p2p_sig_request_table},
              {"SignatureResponse", &cd_p2p_sig_response_table}};

static void check_payload(vec *v, cd_json row)
{
    const char *name = cd_arena_str(&v->arena, str_of(row, "name"));
    cd_bytes app = hex_of(v, row, "app_bytes_hex");
    cd_bytes body = hex_of(v, row, "body_hex");
    cd_bytes got = app;
    bool is_prefixed = false;
    u64 handler = 99;
    cd_buf out = {0};
    cd_arena a = {0};
    usize found = CD_COUNT(bodies);
    (void)!cd_json_bool(&is_prefixed, cd_json_get(row, "prefixed"), NULL);
    if (is_prefixed) {
        vec_check(v, cd_p2p_app_split(&handler, &got, app) == CD_OK && handler == num_of(row, "handler_id"),
                  "%s: handler", name);
        cd_p2p_app_put(&out, handler, body);
        vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), app), "%s: prefixed", name);
    }
    vec_check(v, cd_bytes_eq(got, body), "%s: body", name);
    for (usize i = 0; i < CD_COUNT(bodies); i++) {
        found = strcmp(bodies[i].name, name) == 0 ? i : found;
    }
    vec_check(v, found < CD_COUNT(bodies), "%s is unknown", name);
    if (found < CD_COUNT(bodies)) {
        void *value = cd_arena_zalloc(&a, bodies[found].table->size);
        vec_check(v, cd_proto_parse(value, bodies[found].table, &a, body, NULL) == CD_OK, "%s is read", name);
        cd_buf_clear(&out);
        cd_proto_put(&out, bodies[found].table, value);
        vec_check(v, cd_bytes_eq(cd_buf_bytes(&out), body), "%s is written", name);
        for (u32 i = 0; i < bodies[found].table->cnt; i++) {
            const cd_proto_field *f = &bodies[found].table->fields[i];
            const cd_bytes *b = (const cd_bytes *)(const void *)((const u8 *)value + f->offset);
            cd_json want = cd_json_get(cd_json_get(row, "message"), f->name);
            cd_bytes bytes = {0};
            if (!f->is_repeated && cd_json_hex(&bytes, &a, want, NULL) == CD_OK) {
                vec_check(v, cd_bytes_eq(*b, bytes), "%s.%s", name, f->name);
            } else {
                const cd_proto_list *list = (const cd_proto_list *)(const void *)b;
                vec_check(v, f->is_repeated && list->cnt == cd_json_len(want), "%s.%s: length", name, f->name);
            }
        }
    }
    cd_arena_fini(&a);
    cd_buf_fini(&out);
}

static void each(vec *v, cd_json list, void (*check)(vec *v, cd_json row))
{
    cd_json_it it = cd_json_iter(list);
    vec_check(v, it.left != 0, "an empty list");
    while (cd_json_next(&it)) {
        check(v, it.val);
    }
}

int main(void)
{
    vec v = {0};
    cd_json certs = {0};
    cd_json all = {0};
    if (vec_json(&v, &certs, vec_path(&v, "p2p/certs.json")) &&
        vec_json(&v, &all, vec_path(&v, "p2p/signed_ips.json"))) {
        cd_json_it it = cd_json_iter(all);
        while (cd_json_next(&it)) {
            check_ip(&v, it.val, certs);
        }
    }
    if (vec_json(&v, &all, vec_path(&v, "p2p/bloom.json"))) {
        each(&v, cd_json_get(all, "filters"), check_filter);
        each(&v, cd_json_get(all, "optimal_parameters"), check_size);
    }
    if (vec_json(&v, &all, vec_path(&v, "p2p/sdk_payloads.json"))) {
        each(&v, all, check_payload);
    }
    return vec_end(&v);
}
