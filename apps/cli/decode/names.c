#include "decode/names.h"

#include "base/hex.h"
#include "codec/base58.h"
#include "codec/ids.h"
#include "types/addr_text.h"

static const char *const kinds[] = {"id", "node-id", "address", "evm-address"};
static const char *const chains[] = {"P", "X", "C"};

bool cd__name_is(const char *kind)
{
    bool is = false;
    for (usize i = 0; i < CD_COUNT(kinds); i++) {
        is = is || strcmp(kinds[i], kind) == 0;
    }
    return is;
}

static bool may_be(const char *kind, const char *name)
{
    return kind == NULL || strcmp(kind, name) == 0;
}

/* --- writing --- */

static void open_kind(cd_json_w *w, const char *kind)
{
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "kind", kind);
}

static void put_short_id(cd_json_w *w, const cd_addr20 *addr)
{
    cd_buf text = {0};
    cd_short_id_put(&text, addr);
    cd_json_put_str(w, "shortID", cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

/* Writes an address as it is on each chain of networks with that prefix. */
static void put_on_chains(cd_json_w *w, const char *prefix, const cd_addr20 *addr)
{
    cd_json_w_key(w, "addresses");
    cd_json_w_arr(w);
    for (usize i = 0; i < CD_COUNT(chains); i++) {
        cd_buf text = {0};
        cd_chain_addr_put(&text, chains[i], prefix, addr);
        cd_json_w_str(w, cd_buf_bytes(&text));
        cd_buf_fini(&text);
    }
    cd_json_w_arr_end(w);
}

static void show_id(cd_json_w *w, const cd_hash32 *id)
{
    usize n = 0;
    while (n < sizeof id->b && id->b[n] > ' ' && id->b[n] < 0x7f) {
        n++;
    }
    usize end = n;
    while (end < sizeof id->b && id->b[end] == 0) {
        end++;
    }
    open_kind(w, "id");
    cd__put_id(w, "id", id);
    cd_json_put_hash(w, "hex", id);
    if (n != 0 && end == sizeof id->b) {
        cd_json_put_str(w, "text", cd_bytes_of(id->b, n)); /* the ID of a VM is its name, padded with zeros */
    }
    cd_json_w_obj_end(w);
}

static void show_node(cd_json_w *w, const cd_node_id *id)
{
    cd_buf text = {0};
    cd_node_id_put(&text, id);
    open_kind(w, "node-id");
    cd_json_put_str(w, "nodeID", cd_buf_bytes(&text));
    cd_json_put_hex(w, "hex", cd_bytes_of(id->b, sizeof id->b));
    cd_json_w_obj_end(w);
    cd_buf_fini(&text);
}

static void show_address(cd_json_w *w, const char *chain, const char *prefix, const cd_addr20 *addr)
{
    open_kind(w, "address");
    if (chain != NULL) {
        cd_json_put_cstr(w, "chain", chain);
    }
    cd_json_put_cstr(w, "prefix", prefix);
    put_on_chains(w, prefix, addr);
    put_short_id(w, addr);
    cd_json_put_hex(w, "hex", cd_bytes_of(addr->b, sizeof addr->b));
    cd_json_w_obj_end(w);
}

static void show_evm(cd_json_w *w, const cd_addr20 *addr)
{
    char text[CD_ADDR_TEXT_SIZE];
    open_kind(w, "evm-address");
    cd_json_put_cstr(w, "address", cd_addr_fmt(text, addr));
    put_short_id(w, addr);
    cd_json_put_hex(w, "hex", cd_bytes_of(addr->b, sizeof addr->b));
    cd_json_w_obj_end(w);
}

bool cd__name_bytes_show(cd__show *s, const char *kind, cd_bytes b)
{
    cd_hash32 id;
    cd_node_id node;
    cd_addr20 addr;
    if (b.n == sizeof id.b && may_be(kind, "id")) {
        memcpy(id.b, b.p, sizeof id.b);
        show_id(s->w, &id);
        return true;
    }
    if (b.n != sizeof addr.b || (kind != NULL && strcmp(kind, "id") == 0)) {
        return false;
    }
    memcpy(addr.b, b.p, sizeof addr.b);
    memcpy(node.b, b.p, sizeof node.b);
    if (kind != NULL && strcmp(kind, "node-id") == 0) {
        show_node(s->w, &node);
    } else if (kind != NULL && strcmp(kind, "address") == 0) {
        show_address(s->w, NULL, s->network == NULL ? cd_network_of(1).prefix : s->network->prefix, &addr);
    } else {
        show_evm(s->w, &addr);
    }
    return true;
}

/* --- reading --- */

static bool starts(cd_bytes text, const char *word)
{
    usize n = strlen(word);
    return text.n >= n && memcmp(text.p, word, n) == 0;
}

/* Shows an address of 0x and 40 digits; mixed case must be that of EIP-55. */
static cd_err show_evm_text(cd__show *s, const cd_addr20 *addr, cd_bytes text, cd_errinfo *why)
{
    char right[CD_ADDR_TEXT_SIZE];
    bool has_upper = false;
    bool has_lower = false;
    (void)cd_addr_fmt(right, addr);
    for (usize i = 2; i < text.n; i++) {
        has_upper = has_upper || (text.p[i] >= 'A' && text.p[i] <= 'F');
        has_lower = has_lower || (text.p[i] >= 'a' && text.p[i] <= 'f');
    }
    if (has_upper && has_lower && memcmp(text.p, right, text.n) != 0) {
        return cd_fail(why, CD_EFORMAT, "wrong checksum of an address (EIP-55): its letters are not in the case of %s",
                       right);
    }
    show_evm(s->w, addr);
    return CD_OK;
}

static cd_err show_chain_text(cd__show *s, cd_bytes text, cd_errinfo *why)
{
    cd_chain_addr a;
    CD_TRY(cd_chain_addr_parse(&a, text, why));
    show_address(s->w, cd_arena_str(s->mem, a.chain), a.prefix, &a.addr);
    return CD_OK;
}

/* Shows text without a '-': CB58 of an ID, of a short ID or of other bytes, or bech32 without a chain. */
static cd_err show_plain(bool *is_name, cd__show *s, const char *kind, cd_bytes text, cd_errinfo *why)
{
    u8 b[CD_BASE58_BYTES_MAX];
    usize n;
    cd_bech32 bech;
    cd_addr20 addr;
    if (cd_bech32_parse(&bech, text, NULL) == CD_OK && bech.n == sizeof addr.b && may_be(kind, "address")) {
        memcpy(addr.b, bech.b, sizeof addr.b);
        show_address(s->w, NULL, bech.prefix, &addr);
        return CD_OK;
    }
    CD_TRY(cd_cb58_parse(b, &n, text, why));
    *is_name = cd__name_bytes_show(s, kind, cd_bytes_of(b, n));
    if (!*is_name && kind != NULL) {
        return cd_fail(why, CD_ERANGE, "%zu bytes are no %s", n, kind);
    }
    return CD_OK;
}

cd_err cd__name_text_show(bool *is_name, cd__show *s, const char *kind, cd_bytes text, cd_errinfo *why)
{
    cd_node_id node;
    cd_addr20 addr;
    *is_name = true;
    if (starts(text, "PrivateKey-")) {
        return cd_fail(why, CD_EACCES, "this is a private key, which is shown to nobody");
    }
    if (starts(text, "NodeID-") || (kind != NULL && strcmp(kind, "node-id") == 0 && !starts(text, "0x"))) {
        CD_TRY(cd_node_id_parse(&node, text, why));
        if (!may_be(kind, "node-id")) {
            return cd_fail(why, CD_ETYPE, "this is the ID of a node, not: %s", kind);
        }
        show_node(s->w, &node);
        return CD_OK;
    }
    if (starts(text, "0x")) {
        cd_bytes digits = cd_bytes_sub(text, 2, text.n - 2);
        if (digits.n == 2 * sizeof addr.b && may_be(kind, "evm-address") && cd_hex_parse(addr.b, digits) == CD_OK) {
            return show_evm_text(s, &addr, text, why);
        }
        *is_name = false;
        return CD_OK;
    }
    if (memchr(text.p, '-', text.n) != NULL && may_be(kind, "address")) {
        return show_chain_text(s, text, why);
    }
    return show_plain(is_name, s, kind, text, why);
}
