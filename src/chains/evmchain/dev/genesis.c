#include "chains/evmchain/dev/genesis.h"

#include "base/hex.h"
#include "crypto/ec/secp256k1.h"
#include "wallet/hd.h"

enum { ACCOUNTS = 10 };

/* 10,000 whole units of 18 decimals. */
static const char balance[] = "0x21e19e0c9bab2400000";

cd_err cd_dev_genesis(cd_buf *out, u64 chain_id, u64 time)
{
    u8 seed[64];
    cd_hd_seed(seed, CD_HD_DEV_PHRASE, NULL);
    cd_buf_fmt(out,
               "{\"config\":{\"chainId\":%llu,\"feeConfig\":{\"gasLimit\":30000000,\"targetBlockRate\":1,"
               "\"minBaseFee\":1000000000,\"targetGas\":150000000,\"baseFeeChangeDenominator\":36,"
               "\"minBlockGasCost\":0,\"maxBlockGasCost\":0,\"blockGasCostStep\":0},"
               "\"allowFeeRecipients\":true},\"timestamp\":\"0x%llx\",\"gasLimit\":\"0x1c9c380\","
               "\"difficulty\":\"0x0\",\"alloc\":{",
               (unsigned long long)chain_id, (unsigned long long)time);
    for (u32 i = 0; i < ACCOUNTS; i++) {
        u8 secret[32];
        u8 pub[64];
        cd_addr20 addr;
        CD_TRY(cd_hd_account(secret, seed, i));
        CD_TRY(cd_secp256k1_pub(pub, secret));
        cd_secp256k1_addr(&addr, pub);
        cd_buf_str(out, i == 0 ? "\"" : ",\"");
        cd_hex_put(out, cd_bytes_of(addr.b, 20));
        cd_buf_fmt(out, "\":{\"balance\":\"%s\"}", balance);
    }
    cd_buf_str(out, "}}");
    return CD_OK;
}
