#include "types/account_rlp.h"

/* Appends an integer of at most 32 big-endian bytes without its leading zeros. */
static u8 *put_int(u8 *p, const u8 *be, usize n)
{
    while (n != 0 && be[0] == 0) {
        be++;
        n--;
    }
    if (n != 1 || be[0] >= 0x80) {
        *p++ = (u8)(0x80 + n);
    }
    if (n != 0) {
        memcpy(p, be, n);
    }
    return p + n;
}

static u8 *put_hash(u8 *p, const cd_hash32 *h)
{
    *p++ = 0xa0;
    memcpy(p, h->b, 32);
    return p + 32;
}

usize cd_account_enc(u8 out[CD_ACCOUNT_RLP_MAX], const cd_account *a, cd_account_form form)
{
    u8 be[32];
    /* The two hashes alone make the list longer than 55 bytes, and all fields together stay below 256: its head is two
 * bytes. */
    u8 *p = out + 2;
    cd_put_be64(be, a->nonce);
    p = put_int(p, be, 8);
    cd_u256_store_be(be, &a->balance);
    p = put_int(p, be, 32);
    p = put_hash(p, &a->storage_root);
    p = put_hash(p, &a->code_hash);
    if (form == CD_ACCOUNT_5) {
        *p++ = 0x80;
    }
    out[0] = 0xf8;
    out[1] = (u8)(p - out - 2);
    return (usize)(p - out);
}

cd_err cd_account_dec(cd_account *out, cd_account_form form, cd_bytes in)
{
    cd_account a;
    cd_rlp r = cd_rlp_init(in);
    cd_rlp list = cd_rlp_list(&r);
    a.nonce = cd_rlp_u64(&list);
    a.balance = cd_rlp_u256(&list);
    cd_rlp_fixed(&list, a.storage_root.b, 32);
    cd_rlp_fixed(&list, a.code_hash.b, 32);
    if (form == CD_ACCOUNT_5 && cd_rlp_u64(&list) > 1) {
        cd_rlp_fail(&list, CD_ERANGE);
    }
    cd_rlp_leave(&r, &list);
    CD_TRY(cd_rlp_end(&r));
    *out = a;
    return CD_OK;
}
