/* What miners send: messages, their lists, tokens, URLs, and what a tunnel's program prints. */
#include "base/mem/mem.h"
#include "services/adx/exchange/token.h"
#include "services/adx/miner/played.h"
#include "services/adx/miner/tunnel.h"
#include "services/adx/miner/wire.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void message(cd_bytes text)
{
    static const u8 key[32] = {1};
    static const u8 challenge[32];
    cd_arena mem = {0};
    cd_errinfo why = {0};
    cd_wire_in in;
    u64 seq = 0;
    if (cd_wire_read(&in, &mem, text, &why) == CD_OK) {
        cd_err err = cd_wire_check(&in, CD_WIRE_MINER, key, challenge, &seq, &why);
        CD_ASSERT(err == CD_ESIG || err == CD_EFORMAT); // nobody here has signed anything
        CD_ASSERT(seq == 0);
    }
    cd_arena_fini(&mem);
}

static void url(cd_bytes text)
{
    char out[CD_WIRE_URL_MAX + 1];
    char wallet[43];
    if (cd_wire_url(out, text) == CD_OK) {
        char again[CD_WIRE_URL_MAX + 1];
        CD_ASSERT(strlen(out) <= CD_WIRE_URL_MAX && strpbrk(out, "<>\"' ?#&") == NULL);
        CD_ASSERT(cd_wire_url(again, cd_bytes_str(out)) == CD_OK && strcmp(again, out) == 0);
    }
    if (cd_wire_wallet(wallet, text) == CD_OK) {
        CD_ASSERT(strlen(wallet) == 42);
    }
    for (int kind = CD_TUNNEL_NONE; kind <= CD_TUNNEL_TAILSCALE; kind++) {
        if (cd_tunnel_find_url(out, (cd_tunnel_kind)kind, kind == CD_TUNNEL_NONE, text) == CD_OK) {
            CD_ASSERT(strncmp(out, "http", 4) == 0 && strlen(out) <= CD_WIRE_URL_MAX);
        }
    }
}

/* A token of anybody is a token of ours only when we made it; what is played is told once. */
static void token(cd_bytes text)
{
    cd_hmac_sha256_key key;
    cd_media_token t;
    cd_buf report = {0};
    cd_json_w w = {.out = &report};
    cd_hmac_sha256_init(&key, cd_bytes_str("a key that no input knows"));
    CD_ASSERT(cd_media_token_read(&t, &key, text) != CD_OK);
    cd_played *p = cd_played_new();
    cd_played_add(p, text, 5, 1);
    usize cnt = cd_played_waiting(p);
    cd_json_w_arr(&w);
    CD_ASSERT(cnt <= 1 && cd_played_put(p, &w, 7) == cnt && cd_played_waiting(p) == 0);
    cd_json_w_arr_end(&w);
    cd_played_lost(p);
    CD_ASSERT(cd_played_waiting(p) == cnt);
    cd_played_free(p);
    cd_buf_fini(&report);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_bytes text = cd_bytes_of(data, size);
    message(text);
    url(text);
    token(text);
    return 0;
}
