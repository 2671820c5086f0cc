/* bench-transfers - the signed transactions that the rpc and ws groups preload, the same for every server.
 *
 *   bench-transfers CHAIN_ID INIT_CODE BLOCKS
 *
 * One line of hex a transaction, an empty line after each block. The first account of the development networks
 * deploys the token (INIT_CODE, hex), pays ACCOUNTS accounts and mints for the first HOLDERS of them, which then
 * send each other BLOCKS blocks of TRANSFERS token transfers. Secret i is keccak256("bench-key-i"). */
#include "base/hex.h"
#include "base/num_text.h"
#include "crypto/ec/secp256k1.h"
#include "crypto/hash/keccak.h"
#include "evm/evm.h"
#include "types/tx_codec.h"
#include "wallet/hd.h"

#include <stdio.h>
#include <string.h>

enum { ACCOUNTS = 1000, HOLDERS = 100, TRANSFERS = 400, CALL_SIZE = 4 + 32 + 32 };

typedef struct account {
    u8 secret[32];
    cd_addr20 addr;
    u64 nonce;
} account;

static account owner;
static account accounts[ACCOUNTS];
static u64 chain_id;
static cd_addr20 token;

static bool key_to_addr(account *a)
{
    u8 pub[64];
    if (cd_secp256k1_pub(pub, a->secret) != CD_OK) {
        return false;
    }
    cd_secp256k1_addr(&a->addr, pub);
    return true;
}

static bool make_accounts(void)
{
    u8 seed[64];
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    bool ok = cd_hd_account(owner.secret, seed, 0) == CD_OK && key_to_addr(&owner);
    for (u32 i = 0; ok && i < ACCOUNTS; i++) {
        char label[32];
        cd_hash32 secret;
        (void)snprintf(label, sizeof label, "bench-key-%u", i);
        cd_keccak256(&secret, cd_bytes_str(label));
        memcpy(accounts[i].secret, secret.b, sizeof accounts[i].secret);
        ok = key_to_addr(&accounts[i]);
    }
    return ok;
}

static cd_u256 ether(u64 amount)
{
    cd_u256 v = cd_u256_from_u64(amount);
    (void)cd_u256_mul_u64(&v, &v, 1000000000000000000);
    return v;
}

/* Completes, signs and prints what `from` sends next. */
static bool send_from(account *from, cd_tx *tx)
{
    cd_buf raw = {0};
    cd_buf text = {0};
    tx->type = CD_TX_DYNAMIC_FEE;
    tx->is_protected = true;
    tx->chain_id = chain_id;
    tx->nonce = from->nonce++;
    tx->tip_cap = cd_u256_from_u64(1000000000);
    tx->fee_cap = cd_u256_from_u64(100000000000);
    bool ok = cd_tx_sign(tx, from->secret) == CD_OK;
    if (ok) {
        cd_tx_enc(&raw, tx);
        cd_hex_put(&text, cd_buf_bytes(&raw));
        ok = puts(cd_buf_cstr(&text)) >= 0;
    }
    cd_buf_fini(&raw);
    cd_buf_fini(&text);
    return ok;
}

static bool call_token(account *from, u32 selector, const account *to, u64 amount)
{
    u8 data[CALL_SIZE] = {0};
    for (usize i = 0; i < 4; i++) {
        data[i] = (u8)(selector >> (24 - 8 * i));
    }
    memcpy(data + 16, to->addr.b, sizeof to->addr.b);
    for (usize i = 0; i < 8; i++) {
        data[CALL_SIZE - 1 - i] = (u8)(amount >> (8 * i));
    }
    cd_tx tx = {.to = token, .gas_limit = 70000, .data = cd_bytes_of(data, sizeof data)};
    return send_from(from, &tx);
}

static bool end_block(void)
{
    return putchar('\n') != EOF;
}

static bool print_setup(cd_bytes init_code)
{
    cd_tx deploy = {.is_create = true, .gas_limit = 3000000, .data = init_code};
    bool ok = send_from(&owner, &deploy) && end_block();
    for (u32 i = 0; ok && i < ACCOUNTS; i++) {
        cd_tx pay = {.to = accounts[i].addr, .gas_limit = 21000, .value = ether(i < HOLDERS ? 50 : 1)};
        ok = send_from(&owner, &pay) && (i % (ACCOUNTS / 2) != ACCOUNTS / 2 - 1 || end_block());
    }
    for (u32 i = 0; ok && i < HOLDERS; i++) {
        ok = call_token(&owner, 0x40c10f19, &accounts[i], 1000000000); /* mint(address,uint256) */
    }
    return ok && end_block();
}

static bool print_transfers(u64 blocks)
{
    bool ok = true;
    for (u64 i = 0; ok && i < blocks * TRANSFERS; i++) {
        account *from = &accounts[i % HOLDERS];
        const account *to = &accounts[(i * 37 + 11) % HOLDERS];
        ok = call_token(from, 0xa9059cbb, to, 1 + i % 1000); /* transfer(address,uint256) */
        ok = ok && (i % TRANSFERS != TRANSFERS - 1 || end_block());
    }
    return ok;
}

int main(int argc, char **argv)
{
    u64 blocks = 0;
    cd_arena mem = {0};
    cd_bytes init_code;
    if (argc != 4 || cd_u64_parse(&chain_id, cd_bytes_str(argv[1])) != CD_OK ||
        cd_hex_parse_prefixed(&init_code, &mem, cd_bytes_str(argv[2])) != CD_OK ||
        cd_u64_parse(&blocks, cd_bytes_str(argv[3])) != CD_OK) {
        (void)fprintf(stderr, "usage: bench-transfers CHAIN_ID INIT_CODE BLOCKS\n");
        cd_arena_fini(&mem);
        return 2;
    }
    bool ok = make_accounts();
    cd_evm_create_addr(&token, &owner.addr, 0);
    ok = ok && print_setup(init_code) && print_transfers(blocks);
    cd_arena_fini(&mem);
    return ok && fflush(stdout) == 0 ? 0 : 1;
}
