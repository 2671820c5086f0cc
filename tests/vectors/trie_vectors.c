/* The trie: ethereum-trie (ordinary, secure, any order, neighbours) and the roots of the benchmark's
 * accounts. Every final trie is also proven, walked and rebuilt with the sorted builder.
 * [spec:conformance#3] [spec:bench#3] */
#include "base/hex.h"
#include "store/trie.h"
#include "tests/vectors/vec.h"

typedef struct run {
    vec *v;
    const char *name;
    bool is_secure;
    cd_trie *t;
} run;

/* Strings that start with 0x are hex, others raw. */
static cd_bytes text_of(run *r, cd_json s)
{
    cd_bytes text = {0};
    if (cd_json_str(&text, s, NULL) == CD_OK && text.n >= 2 && text.p[0] == '0' && text.p[1] == 'x') {
        vec_check(r->v, cd_json_hex(&text, &r->v->arena, s, NULL) == CD_OK, "%s: hex", r->name);
    }
    return text;
}

static cd_bytes key_of(run *r, cd_bytes text)
{
    if (!r->is_secure) {
        return text;
    }
    cd_hash32 h;
    cd_keccak256(&h, text);
    return cd_arena_dup(&r->v->arena, cd_bytes_of(h.b, 32));
}

/* An object's key as text_of reads it. */
static cd_bytes key_text(run *r, cd_bytes key)
{
    if (key.n < 2 || key.p[0] != '0' || key.p[1] != 'x') {
        return key;
    }
    cd_bytes out = {0};
    vec_check(r->v, cd_hex_parse_prefixed(&out, &r->v->arena, key) == CD_OK, "%s: hex", r->name);
    return out;
}

/* Proofs of all keys verify, and the sorted builder agrees. */
static void check_whole(run *r, const cd_hash32 *want)
{
    cd_hash32 root;
    cd_trie_root(r->t, &root);
    vec_check(r->v, cd_hash32_eq(&root, want), "%s: root", r->name);
    cd_trie_build *b = cd_trie_build_new(NULL, NULL);
    cd_trie_iter *it = cd_trie_iter_new(r->t, (cd_bytes){0}, false);
    cd_trie_item item;
    bool ok = true;
    while (cd_trie_iter_next(it, &item) == CD_OK) {
        cd_trie_proof proof;
        cd_bytes value;
        ok = ok && cd_trie_build_add(b, item.key, item.value) == CD_OK &&
             cd_trie_prove(r->t, &proof, &r->v->arena, item.key) == CD_OK &&
             cd_trie_verify(&value, want, item.key, &proof) == CD_OK && cd_bytes_eq(value, item.value);
    }
    cd_trie_build_root(b, &root);
    vec_check(r->v, ok && cd_hash32_eq(&root, want), "%s: proofs and sorted root", r->name);
    cd_trie_iter_free(it);
    cd_trie_build_free(b);
}

static void put(run *r, cd_bytes key, cd_json value)
{
    cd_bytes v = cd_json_kind_of(value) == CD_JSON_NULL ? (cd_bytes){0} : text_of(r, value);
    vec_check(r->v, cd_trie_put(r->t, key_of(r, key), v) == CD_OK, "%s: put", r->name);
}

static void run_case(run *r, cd_json test)
{
    cd_json in = cd_json_get(test, "in");
    cd_hash32 want;
    if (cd_json_fixed(want.b, 32, cd_json_get(test, "root"), NULL) != CD_OK) {
        vec_check(r->v, false, "%s: no root", r->name);
        return;
    }
    bool is_list = cd_json_kind_of(in) == CD_JSON_ARR;
    usize cnt = cd_json_len(in);
    /* An object's order must not matter: start at each of its entries once. */
    for (usize first = 0; first < (is_list ? 1 : cnt); first++) {
        r->t = cd_trie_new_mem();
        for (int round = 0; round < 2; round++) {
            usize i = 0;
            cd_json_it it = cd_json_iter(in);
            for (; cd_json_next(&it); i++) {
                if (is_list) {
                    if (round == 0) {
                        put(r, text_of(r, cd_json_at(it.val, 0)), cd_json_at(it.val, 1));
                    }
                } else if ((i >= first) == (round == 0)) {
                    put(r, key_text(r, it.key), it.val);
                }
            }
        }
        check_whole(r, &want);
        cd_trie_close(r->t);
    }
}

static void run_file(vec *v, const char *file)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, cd_arena_fmt(&v->arena, "ethereum-trie/%s", file)))) {
        return;
    }
    bool is_secure = strstr(file, "secure") != NULL;
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        run r = {.v = v,
                 .name = cd_arena_fmt(&v->arena, "%s/%.*s", file, (int)it.key.n, (const char *)it.key.p),
                 .is_secure = is_secure};
        run_case(&r, it.val);
    }
}

/* The first key strictly behind (or before) text; empty when there is none. */
static cd_bytes neighbour(cd_trie *t, cd_bytes text, bool before)
{
    cd_trie_item item = {0};
    if (before && text.n == 0) {
        return (cd_bytes){0};
    }
    cd_trie_iter *it = cd_trie_iter_new(t, text, before);
    cd_err err = cd_trie_iter_next(it, &item);
    if (err == CD_OK && cd_bytes_eq(item.key, text)) {
        err = cd_trie_iter_next(it, &item);
    }
    cd_trie_iter_free(it);
    return err == CD_OK ? item.key : (cd_bytes){0};
}

static void run_neighbours(vec *v)
{
    cd_json doc;
    if (!vec_json(v, &doc, vec_path(v, "ethereum-trie/trietestnextprev.json"))) {
        return;
    }
    cd_json_it it = cd_json_iter(doc);
    while (cd_json_next(&it)) {
        cd_trie *t = cd_trie_new_mem();
        cd_json_it key = cd_json_iter(cd_json_get(it.val, "in"));
        while (cd_json_next(&key)) {
            cd_bytes text = {0};
            vec_check(v, cd_json_str(&text, key.val, NULL) == CD_OK && cd_trie_put(t, text, text) == CD_OK,
                      "nextprev: put");
        }
        cd_json_it test = cd_json_iter(cd_json_get(it.val, "tests"));
        while (cd_json_next(&test)) {
            cd_bytes s[3] = {0};
            bool ok = true;
            for (usize i = 0; i < 3; i++) {
                ok = ok && cd_json_str(&s[i], cd_json_at(test.val, i), NULL) == CD_OK;
            }
            ok = ok && cd_bytes_eq(neighbour(t, s[0], true), s[1]) && cd_bytes_eq(neighbour(t, s[0], false), s[2]);
            vec_check(v, ok, "nextprev: neighbours of \"%.*s\"", (int)s[0].n, (const char *)s[0].p);
        }
        cd_trie_close(t);
    }
}

/* --- the benchmark's accounts --- */

/* Appends the number as RLP: its big-endian bytes without leading zeros. */
static u8 *put_number(u8 *p, u64 n)
{
    if (n != 0 && n < 0x80) {
        *p++ = (u8)n;
        return p;
    }
    unsigned size = n == 0 ? 0 : (71u - (unsigned)__builtin_clzll(n)) / 8;
    *p++ = (u8)(0x80 + size);
    while (size-- > 0) {
        *p++ = (u8)(n >> (8 * size));
    }
    return p;
}

/* [i, i*10^9, root of the empty trie, hash of no code] */
static cd_bytes account(u8 out[96], u64 i)
{
    u8 *p = put_number(put_number(out + 2, i), i * 1000000000u);
    *p++ = 0xa0;
    memcpy(p, CD_KECCAK_EMPTY_RLP.b, 32);
    p += 32;
    *p++ = 0xa0;
    memcpy(p, CD_KECCAK_EMPTY.b, 32);
    p += 32;
    out[0] = 0xf8;
    out[1] = (u8)(p - out - 2);
    return cd_bytes_of(out, (usize)(p - out));
}

static cd_hash32 counter_key(u64 i)
{
    u8 be[8];
    cd_hash32 key;
    cd_put_be64(be, i);
    cd_keccak256(&key, cd_bytes_of(be, 8));
    return key;
}

static void run_accounts(vec *v, u64 n, cd_json roots)
{
    run r = {.v = v, .name = cd_arena_fmt(&v->arena, "%llu accounts", (unsigned long long)n)};
    cd_hash32 want;
    cd_hash32 updated;
    if (cd_json_fixed(want.b, 32, cd_json_get(roots, "root"), NULL) != CD_OK ||
        cd_json_fixed(updated.b, 32, cd_json_get(roots, "root_after_updates"), NULL) != CD_OK) {
        vec_check(v, false, "%s: no roots", r.name);
        return;
    }
    cd_kv *kv = cd_kv_mem_open();
    cd_trie_cfg cfg = {.nodes = kv, .scheme = CD_TRIE_BY_PATH};
    vec_check(v, cd_trie_open(&r.t, &cfg, NULL) == CD_OK, "%s: open", r.name);
    bool ok = true;
    u8 value[96];
    for (u64 i = 0; i < n; i++) {
        cd_hash32 key = counter_key(i);
        ok = ok && cd_trie_put(r.t, cd_bytes_of(key.b, 32), account(value, i)) == CD_OK;
    }
    cd_kv_batch batch = {0};
    cd_trie_commit(r.t, &cfg.root, &batch);
    ok = ok && cd_kv_commit(kv, &batch, CD_KV_NOSYNC, NULL) == CD_OK;
    cd_kv_batch_fini(&batch);
    vec_check(v, ok && cd_hash32_eq(&cfg.root, &want), "%s: root", r.name);
    cd_trie_close(r.t);
    vec_check(v, cd_trie_open(&r.t, &cfg, NULL) == CD_OK, "%s: open again", r.name);
    for (u64 i = 0; i < n && i < 2000; i++) {
        cd_hash32 key = counter_key(i * 7919 % n);
        ok = ok && cd_trie_put(r.t, cd_bytes_of(key.b, 32), account(value, i / 2)) == CD_OK;
    }
    cd_hash32 root;
    cd_trie_root(r.t, &root);
    vec_check(v, ok && cd_hash32_eq(&root, &updated), "%s: root after updates", r.name);
    if (n <= 10000) {
        check_whole(&r, &updated);
    }
    cd_trie_close(r.t);
    cd_kv_close(kv);
}

int main(void)
{
    static const char *const files[] = {
        "trietest.json",
        "trietest_secureTrie.json",
        "trieanyorder.json",
        "trieanyorder_secureTrie.json",
        "hex_encoded_securetrie_test.json",
    };
    vec v = {0};
    for (usize i = 0; i < CD_COUNT(files); i++) {
        run_file(&v, files[i]);
    }
    run_neighbours(&v);
    cd_json doc;
    if (vec_json(&v, &doc, vec_path(&v, "bench-evm/meta/trie-roots.json"))) {
        cd_json roots = cd_json_get(doc, "roots");
        run_accounts(&v, 1000, cd_json_get(roots, "1000"));
        run_accounts(&v, 10000, cd_json_get(roots, "10000"));
        run_accounts(&v, 100000, cd_json_get(roots, "100000"));
    }
    return vec_end(&v);
}
