#include "p2p/identity.h"

#include "base/os/rng.h"

enum { FILE_MAX = 64 * 1024, MODE_SECRET = 0400, MODE_FOLDER = 0700, SIGNER_LEN = 32, PATH_LEN_MAX = 4096 };

static bool exists(cd_fs *fs, const char *path)
{
    cd_fs_stat st;
    return cd_fs_stat_get(fs, &st, path, NULL) == CD_OK;
}

static cd_err make_folder(cd_fs *fs, const char *path, cd_errinfo *why)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_LEN_MAX];
    usize n = slash == NULL ? 0 : (usize)(slash - path);
    if (n == 0) {
        return CD_OK;
    }
    if (n >= sizeof folder) {
        return cd_fail(why, CD_ELIMIT, "path too long: %s", path);
    }
    memcpy(folder, path, n);
    folder[n] = '\0';
    return cd_fs_mkdirs(fs, folder, MODE_FOLDER, why);
}

static cd_err save(cd_fs *fs, const char *path, cd_bytes data, cd_errinfo *why)
{
    CD_TRY(make_folder(fs, path, why));
    return cd_fs_replace_file(fs, path, data, MODE_SECRET, why);
}

static void wipe_buf(cd_buf *b)
{
    if (b->p != NULL) {
        cd_wipe(b->p, b->cap);
    }
    cd_buf_fini(b);
}

/* Writes the certificate first: if the key alone were there after a crash, the next start would make no certificate. */
static cd_err make_cert(cd_fs *fs, const cd_p2p_identity_files *f, u64 now_ns, cd_errinfo *why)
{
    cd_buf cert = {0};
    cd_buf key = {0};
    cd_x509_make(&cert, &key, now_ns);
    cd_err e = save(fs, f->cert, cd_buf_bytes(&cert), why);
    e = e != CD_OK ? e : save(fs, f->key, cd_buf_bytes(&key), why);
    wipe_buf(&key);
    cd_buf_fini(&cert);
    return e;
}

static void make_signer(u8 out[SIGNER_LEN])
{
    cd_rng rng = cd_rng_os();
    u8 ikm[SIGNER_LEN];
    cd_bls_sk sk;
    cd_rng_fill(&rng, ikm, sizeof ikm);
    cd_err e = cd_bls_keygen(&sk, cd_bytes_of(ikm, sizeof ikm));
    CD_ASSERT(e == CD_OK);
    memcpy(out, sk.b, SIGNER_LEN);
    cd_wipe(&sk, sizeof sk);
    cd_wipe(ikm, sizeof ikm);
}

static cd_err set_cert(cd_p2p_identity *id, cd_bytes cert_pem, cd_bytes key_pem, cd_errinfo *why)
{
    cd_cert cert;
    CD_TRY(cd_x509_der(&id->cert, cert_pem, why));
    CD_TRY(cd_signkey_open(&id->key, key_pem, why));
    if (!cd_signkey_fits(id->key, cd_buf_bytes(&id->cert))) {
        return cd_fail(why, CD_EKEY, "the staking key is not that of the certificate");
    }
    CD_TRY(cd_cert_parse(&cert, cd_buf_bytes(&id->cert), why));
    id->node_id = cert.node_id;
    cd_buf_put(&id->cert_pem, cert_pem);
    cd_secret_init(&id->key_pem, key_pem.n);
    memcpy(id->key_pem.p, key_pem.p, key_pem.n);
    return CD_OK;
}

static cd_err set_signer(cd_p2p_identity *id, cd_bytes signer, cd_errinfo *why)
{
    cd_bls_pk pk;
    cd_bls_sig pop;
    if (signer.n != SIGNER_LEN) {
        return cd_fail(why, CD_EFORMAT, "a BLS signer key has %d bytes, not %zu", SIGNER_LEN, signer.n);
    }
    cd_secret_init(&id->bls, sizeof(cd_bls_sk));
    cd_bls_sk *sk = (cd_bls_sk *)(void *)id->bls.p;
    memcpy(sk->b, signer.p, SIGNER_LEN);
    if (cd_bls_pk_of(&pk, sk) != CD_OK || cd_bls_pop_prove(&pop, sk) != CD_OK) {
        return cd_fail(why, CD_EKEY, "the BLS signer key is out of range");
    }
    cd_bls_pk_enc(id->bls_public, &pk);
    cd_bls_sig_enc(id->bls_pop, &pop);
    return CD_OK;
}

cd_err cd_p2p_identity_of(cd_p2p_identity *out, cd_bytes cert_pem, cd_bytes key_pem, cd_bytes signer, cd_errinfo *why)
{
    cd_p2p_identity id = {.key = NULL};
    u8 made[SIGNER_LEN];
    if (signer.n == 0) {
        make_signer(made);
        signer = cd_bytes_of(made, sizeof made);
    }
    cd_err e = set_cert(&id, cert_pem, key_pem, why);
    e = e != CD_OK ? e : set_signer(&id, signer, why);
    cd_wipe(made, sizeof made);
    if (e != CD_OK) {
        cd_p2p_identity_close(&id);
        return e;
    }
    *out = id;
    return CD_OK;
}

static cd_err read_cert(cd_fs *fs, const cd_p2p_identity_files *f, cd_buf *cert, cd_buf *key, u64 now_ns,
                        cd_errinfo *why)
{
    if (f->cert == NULL || f->key == NULL) {
        cd_x509_make(cert, key, now_ns);
        return CD_OK;
    }
    if (!exists(fs, f->key)) {
        CD_TRY(make_cert(fs, f, now_ns, why));
    }
    CD_TRY(cd_fs_read_file(fs, key, f->key, FILE_MAX, why));
    return cd_fs_read_file(fs, cert, f->cert, FILE_MAX, why);
}

static cd_err read_signer(cd_fs *fs, const char *path, cd_buf *out, cd_errinfo *why)
{
    u8 made[SIGNER_LEN];
    if (path != NULL && exists(fs, path)) {
        CD_TRY(cd_fs_read_file(fs, out, path, FILE_MAX, why));
        return out->n == SIGNER_LEN
                   ? CD_OK
                   : cd_fail(why, CD_EFORMAT, "%s: a BLS signer key has %d bytes, not %zu", path, SIGNER_LEN, out->n);
    }
    make_signer(made);
    cd_err e = path == NULL ? CD_OK : save(fs, path, cd_bytes_of(made, sizeof made), why);
    cd_buf_put(out, cd_bytes_of(made, sizeof made));
    cd_wipe(made, sizeof made);
    return e;
}

cd_err cd_p2p_identity_open(cd_p2p_identity *out, cd_fs *fs, const cd_p2p_identity_files *files, u64 now_ns,
                            cd_errinfo *why)
{
    cd_buf cert = {0};
    cd_buf key = {0};
    cd_buf signer = {0};
    cd_err e = read_cert(fs, files, &cert, &key, now_ns, why);
    e = e != CD_OK ? e : read_signer(fs, files->signer, &signer, why);
    e = e != CD_OK ? e : cd_p2p_identity_of(out, cd_buf_bytes(&cert), cd_buf_bytes(&key), cd_buf_bytes(&signer), why);
    wipe_buf(&signer);
    wipe_buf(&key);
    cd_buf_fini(&cert);
    return e;
}

void cd_p2p_identity_close(cd_p2p_identity *id)
{
    cd_signkey_close(id->key);
    cd_secret_fini(&id->key_pem);
    cd_secret_fini(&id->bls);
    cd_buf_fini(&id->cert);
    cd_buf_fini(&id->cert_pem);
    *id = (cd_p2p_identity){.key = NULL};
}
