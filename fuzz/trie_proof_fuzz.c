/* Arbitrary bytes as proofs, range proofs and stored nodes. A proof made of strange bytes is refused; one
 * of the built-in trie whose bytes are spoilt never proves anything but the truth. */
#include "base/rd.h"
#include "store/trie.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

enum { MAX_NODES = 64, MAX_ITEMS = 16, KEYS = 24 };

/* A list of length-prefixed ranges. */
static usize read_list(cd_rd *in, cd_bytes *out, usize max)
{
    usize cnt = cd_rd_u8(in) % (max + 1);
    for (usize i = 0; i < cnt; i++) {
        out[i] = cd_rd_take(in, cd_rd_be16(in) % 700);
    }
    return cnt;
}

static void free_form(cd_rd in)
{
    cd_hash32 root;
    cd_bytes node[MAX_NODES] = {0};
    cd_bytes text[2 * MAX_ITEMS] = {0};
    cd_trie_item item[MAX_ITEMS];
    cd_bytes key = cd_rd_take(&in, cd_rd_u8(&in) % 70);
    cd_trie_proof proof = {.node = node, .cnt = read_list(&in, node, MAX_NODES)};
    usize cnt = read_list(&in, text, CD_COUNT(text)) / 2;
    for (usize i = 0; i < cnt; i++) {
        item[i] = (cd_trie_item){.key = text[2 * i], .value = text[2 * i + 1]};
    }
    /* With the first node's own hash as the root the decoder is reached. */
    cd_keccak256(&root, node[0]);
    cd_bytes value;
    bool more;
    (void)!cd_trie_verify(&value, &root, key, &proof);
    (void)!cd_trie_verify_range(&more, &root, key, item, cnt, &proof);

    /* The same nodes as a store: reading must end in items or errors. */
    cd_kv *kv = cd_kv_mem_open();
    for (usize i = 0; i < proof.cnt; i++) {
        cd_hash32 h;
        cd_keccak256(&h, node[i]);
        cd_err err = cd_kv_put(kv, cd_bytes_of(h.b, 32), node[i]);
        CD_ASSERT(err == CD_OK);
    }
    cd_trie_cfg cfg = {.nodes = kv, .root = root, .scheme = CD_TRIE_BY_HASH};
    cd_trie *t = NULL;
    if (cd_trie_open(&t, &cfg, NULL) == CD_OK) {
        cd_trie_iter *it = cd_trie_iter_new(t, (cd_bytes){0}, false);
        cd_trie_item got;
        for (int i = 0; i < 1000 && cd_trie_iter_next(it, &got) == CD_OK; i++) {
        }
        cd_trie_iter_free(it);
        if (key.n <= CD_TRIE_MAX_KEY) {
            (void)!cd_trie_put(t, key, cd_bytes_str("v"));
            (void)!cd_trie_del(t, key);
        }
        cd_hash32 after;
        cd_trie_root(t, &after);
        cd_trie_close(t);
    }
    cd_kv_close(kv);
}

/* Key i of the built-in trie: few first bytes, so that nodes are shared. */
static cd_bytes key_of(u8 key[32], unsigned i)
{
    memset(key, 0x21, 32);
    key[0] = (u8)(i % 5 * 0x30);
    key[7] = (u8)(i / 5);
    return cd_bytes_of(key, 32);
}

static cd_bytes value_of(u8 value[40], unsigned i)
{
    memset(value, (int)i + 1, 40);
    return cd_bytes_of(value, i % 3 == 0 ? 2 : 40);
}

static void spoilt(cd_rd in)
{
    cd_trie *t = cd_trie_new_mem();
    u8 key[32];
    u8 value[40];
    for (unsigned i = 0; i < KEYS; i++) {
        cd_err err = cd_trie_put(t, key_of(key, i), value_of(value, i));
        CD_ASSERT(err == CD_OK);
    }
    cd_hash32 root;
    cd_trie_root(t, &root);
    cd_arena a = {0};
    unsigned which = cd_rd_u8(&in) % (KEYS + 4);
    cd_bytes k = key_of(key, which);
    cd_trie_proof proof;
    cd_err err = cd_trie_prove(t, &proof, &a, k);
    CD_ASSERT(err == CD_OK);
    cd_bytes node[MAX_NODES];
    CD_ASSERT(proof.cnt <= MAX_NODES);
    for (usize i = 0; i < proof.cnt; i++) {
        node[i] = cd_arena_dup(&a, proof.node[i]);
    }
    while (cd_rd_left(&in) >= 3) {
        cd_bytes n = node[cd_rd_u8(&in) % proof.cnt];
        usize at = cd_rd_u8(&in) % n.n;
        ((u8 *)(uintptr_t)n.p)[at] ^= cd_rd_u8(&in);
    }
    cd_bytes got;
    if (cd_trie_verify(&got, &root, k, &(cd_trie_proof){.node = node, .cnt = proof.cnt}) == CD_OK) {
        cd_bytes want = which < KEYS ? value_of(value, which) : (cd_bytes){0};
        CD_ASSERT(cd_bytes_eq(got, want));
    }
    cd_arena_fini(&a);
    cd_trie_close(t);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_rd in = cd_rd_init(cd_bytes_of(data, size));
    if (cd_rd_u8(&in) & 1) {
        spoilt(in);
    } else {
        free_form(in);
    }
    return 0;
}
