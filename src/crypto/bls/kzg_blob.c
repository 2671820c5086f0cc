#include "crypto/bls/kzg_blob.h"

#include "base/mem/mem.h"

#include <ckzg.h>

#include <stdio.h>

_Static_assert(CD_KZG_BLOB_LEN == BYTES_PER_BLOB, "blob length");

struct cd_kzg_setup {
    KZGSettings settings;
};

static cd_err from_ckzg(C_KZG_RET r)
{
    switch (r) {
    case C_KZG_OK:
        return CD_OK;
    case C_KZG_BADARGS:
        return CD_EFORMAT;
    case C_KZG_MALLOC:
        return CD_ENOMEM;
    case C_KZG_ERROR:
        break;
    }
    CD_UNREACHABLE();
}

cd_err cd_kzg_setup_open(cd_kzg_setup **out, cd_bytes text)
{
    if (text.n == 0) {
        return CD_EFORMAT;
    }
    cd_kzg_setup *s = cd_new(cd_kzg_setup);
    /* The cast drops const, but a file opened for reading does not write to the text. */
    FILE *f = fmemopen((void *)(uintptr_t)text.p, text.n, "r");
    cd_err err = CD_ENOMEM;
    if (f != NULL) {
        err = from_ckzg(load_trusted_setup_file(&s->settings, f, 0));
        (void)fclose(f);
    }
    if (err != CD_OK) {
        cd_free(s);
        return err;
    }
    *out = s;
    return CD_OK;
}

void cd_kzg_setup_close(cd_kzg_setup *s)
{
    if (s != NULL) {
        free_trusted_setup(&s->settings);
        cd_free(s);
    }
}

cd_err cd_kzg_blob_commit(const cd_kzg_setup *s, u8 commitment[48], cd_bytes blob)
{
    if (blob.n != CD_KZG_BLOB_LEN) {
        return CD_EINVAL;
    }
    KZGCommitment c;
    CD_TRY(from_ckzg(blob_to_kzg_commitment(&c, (const Blob *)blob.p, &s->settings)));
    memcpy(commitment, c.bytes, 48);
    return CD_OK;
}

cd_err cd_kzg_prove(const cd_kzg_setup *s, u8 proof[48], u8 y[32], cd_bytes blob, const u8 z[32])
{
    if (blob.n != CD_KZG_BLOB_LEN) {
        return CD_EINVAL;
    }
    KZGProof p;
    Bytes32 value;
    CD_TRY(from_ckzg(compute_kzg_proof(&p, &value, (const Blob *)blob.p, (const Bytes32 *)z, &s->settings)));
    memcpy(proof, p.bytes, 48);
    memcpy(y, value.bytes, 32);
    return CD_OK;
}

cd_err cd_kzg_blob_prove(const cd_kzg_setup *s, u8 proof[48], cd_bytes blob, const u8 commitment[48])
{
    if (blob.n != CD_KZG_BLOB_LEN) {
        return CD_EINVAL;
    }
    KZGProof p;
    CD_TRY(from_ckzg(compute_blob_kzg_proof(&p, (const Blob *)blob.p, (const Bytes48 *)commitment, &s->settings)));
    memcpy(proof, p.bytes, 48);
    return CD_OK;
}

cd_err cd_kzg_blob_verify(const cd_kzg_setup *s, bool *ok, cd_bytes blob, const u8 commitment[48], const u8 proof[48])
{
    if (blob.n != CD_KZG_BLOB_LEN) {
        return CD_EINVAL;
    }
    bool fits;
    CD_TRY(from_ckzg(verify_blob_kzg_proof(&fits, (const Blob *)blob.p, (const Bytes48 *)commitment,
                                           (const Bytes48 *)proof, &s->settings)));
    *ok = fits;
    return CD_OK;
}
