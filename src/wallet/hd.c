#include "wallet/hd.h"

#include "crypto/ec/secp256k1.h"
#include "crypto/hash/hmac.h"
#include "num/u256.h"
#include "types/network.h"

#include <stdio.h>

const char CD_HD_DEV_PHRASE[] = "test test test test test test test test test test test junk";

void cd_hd_seed(u8 seed[64], const char *phrase, const char *pass_phrase)
{
    enum { ROUNDS = 2048 };
    char salt[8 + 256];
    int n = snprintf(salt, sizeof salt, "mnemonic%s", pass_phrase == NULL ? "" : pass_phrase);
    CD_ASSERT(n > 0 && (usize)n < sizeof salt);
    cd_pbkdf2_sha512(seed, 64, cd_bytes_str(phrase), cd_bytes_of(salt, (usize)n), ROUNDS);
}

/* The order of the group of secp256k1 (SEC 2). */
static const cd_u256 group_order = {
    .w = {0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, 0xffffffffffffffff}};

/* out = a + b modulo the group order; both are below it. */
static void add_scalars(cd_u256 *out, const cd_u256 *a, const cd_u256 *b)
{
    cd_u256 room;
    cd_u256_sub(&room, &group_order, b);
    if (cd_u256_lt(a, &room)) {
        cd_u256_add(out, a, b);
    } else {
        cd_u256_sub(out, a, &room);
    }
}

/* One step of CKDpriv (BIP-32). */
static cd_err step_down(u8 secret[32], u8 chain_code[32], u32 step)
{
    u8 data[37];
    u8 mac[64];
    if ((step & CD_HD_HARDENED) != 0) {
        data[0] = 0;
        memcpy(data + 1, secret, 32);
    } else {
        u8 pub[64];
        CD_TRY(cd_secp256k1_pub(pub, secret));
        CD_TRY(cd_secp256k1_pub_enc(data, pub));
    }
    cd_put_be32(data + 33, step);
    cd_hmac_sha512(mac, cd_bytes_of(chain_code, 32), cd_bytes_of(data, sizeof data));
    cd_u256 tweak;
    cd_u256 key;
    cd_u256_load_be(&tweak, mac);
    cd_u256_load_be(&key, secret);
    if (!cd_u256_lt(&tweak, &group_order)) {
        return CD_EKEY;
    }
    add_scalars(&key, &key, &tweak);
    if (cd_u256_is_zero(&key)) {
        return CD_EKEY;
    }
    cd_u256_store_be(secret, &key);
    memcpy(chain_code, mac + 32, 32);
    return CD_OK;
}

cd_err cd_hd_derive(u8 secret[32], const u8 seed[64], const u32 *steps, usize step_cnt)
{
    u8 node[64];
    cd_u256 master;
    cd_hmac_sha512(node, cd_bytes_str("Bitcoin seed"), cd_bytes_of(seed, 64));
    cd_u256_load_be(&master, node);
    if (cd_u256_is_zero(&master) || !cd_u256_lt(&master, &group_order)) {
        return CD_EKEY;
    }
    for (usize i = 0; i < step_cnt; i++) {
        CD_TRY(step_down(node, node + 32, steps[i]));
    }
    memcpy(secret, node, 32);
    return CD_OK;
}

cd_err cd_hd_account(u8 secret[32], const u8 seed[64], u32 idx)
{
    const u32 path[] = {44 | CD_HD_HARDENED, 60 | CD_HD_HARDENED, 0 | CD_HD_HARDENED, 0, idx};
    return cd_hd_derive(secret, seed, path, CD_COUNT(path));
}

bool cd_hd_is_public(const u8 secret[32])
{
    enum { ACCOUNTS = 20 }; /* as many as Hardhat shows */
    static const u8 local[32] = {0x56, 0x28, 0x9e, 0x99, 0xc9, 0x4b, 0x69, 0x12, 0xbf, 0xc1, 0x2a,
                                 0xdc, 0x09, 0x3c, 0x9b, 0x51, 0x12, 0x4f, 0x0d, 0xc5, 0x4a, 0xc7,
                                 0xa7, 0x66, 0xb2, 0xbc, 0x5c, 0xcf, 0x55, 0x8d, 0x80, 0x27};
    u8 seed[64];
    u8 known[32];
    bool is_public = memcmp(secret, local, 32) == 0;
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    for (u32 i = 0; !is_public && i < ACCOUNTS; i++) {
        is_public = cd_hd_account(known, seed, i) == CD_OK && memcmp(secret, known, sizeof known) == 0;
    }
    return is_public;
}

cd_err cd_hd_own_ok(const u8 secret[32], u32 network_id, cd_errinfo *why)
{
    return cd_network_refuses_public_keys(network_id) && cd_hd_is_public(secret)
               ? cd_fail(why, CD_EACCES, "refusing to use a publicly known key on network %s",
                         cd_network_of(network_id).name)
               : CD_OK;
}
