/* BLS12-381 decoders on arbitrary bytes: what is accepted must encode to the same bytes, and the EIP-2537
 * operations must survive anything. */
#include "crypto/bls/bls.h"
#include "crypto/bls/bls12381.h"
#include "crypto/bls/kzg.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static void check_key(cd_bytes in)
{
    cd_bls_pk pk;
    u8 out[96];
    if (cd_bls_pk_dec(&pk, in) == CD_OK) {
        if (in.n == 48) {
            cd_bls_pk_enc(out, &pk);
        } else {
            cd_bls_pk_enc_raw(out, &pk);
        }
        CD_ASSERT(memcmp(out, in.p, in.n) == 0);
    }
}

static void check_sig(cd_bytes in)
{
    cd_bls_sig sig;
    u8 out[192];
    if (cd_bls_sig_dec(&sig, in) == CD_OK) {
        if (in.n == 96) {
            cd_bls_sig_enc(out, &sig);
        } else {
            cd_bls_sig_enc_raw(out, &sig);
        }
        CD_ASSERT(memcmp(out, in.p, in.n) == 0);
    }
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    if (size == 0) {
        return 0;
    }
    cd_bytes in = cd_bytes_of(data + 1, size - 1);
    u8 out[256];
    bool flag;
    switch (data[0] % 8) {
    case 0:
        check_key(in);
        break;
    case 1:
        check_sig(in);
        break;
    case 2:
        (void)!cd_bls12381_g1_add(out, in);
        break;
    case 3:
        (void)!cd_bls12381_g2_add(out, in);
        break;
    case 4:
        (void)!cd_bls12381_g1_msm(out, in);
        break;
    case 5:
        (void)!cd_bls12381_g2_msm(out, in);
        break;
    case 6:
        (void)!cd_bls12381_pairing(&flag, in);
        break;
    default:
        if (in.n == 160) {
            (void)!cd_kzg_verify_proof(&flag, in.p, in.p + 48, in.p + 80, in.p + 112);
        }
        break;
    }
    return 0;
}
