/* The node's files: made once, read again, refused when they are wrong; what a certificate of ours looks like. */
#include "p2p/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW_NS 1795266684000000000ull /* 2026-11-21 13:11:24 UTC */

typedef struct folder {
    char dir[64];
    char cert[96];
    char key[96];
    char signer[96];
} folder;

static cd_p2p_identity_files open_folder(folder *f)
{
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/cd-identity-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->cert, sizeof f->cert, "%s/staking/staker.crt", f->dir);
    (void)snprintf(f->key, sizeof f->key, "%s/staking/staker.key", f->dir);
    (void)snprintf(f->signer, sizeof f->signer, "%s/staking/signer.key", f->dir);
    return (cd_p2p_identity_files){.cert = f->cert, .key = f->key, .signer = f->signer};
}

static void close_folder(folder *f)
{
    assert_int_equal(cd_fs_remove_tree(cd_fs_real(), f->dir, NULL), CD_OK);
}

static void put_file(const char *path, const char *text)
{
    assert_int_equal(cd_fs_replace_file(cd_fs_real(), path, cd_bytes_str(text), 0600, NULL), CD_OK);
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void made_once(void **state)
{
    (void)state;
    folder f;
    cd_p2p_identity_files files = open_folder(&f);
    cd_p2p_identity a = {.key = NULL};
    cd_p2p_identity b = {.key = NULL};
    cd_errinfo why = {0};
    assert_int_equal(cd_p2p_identity_open(&a, cd_fs_real(), &files, NOW_NS, &why), CD_OK);
    assert_int_equal(mode_of(f.cert), 0400);
    assert_int_equal(mode_of(f.key), 0400);
    assert_int_equal(mode_of(f.signer), 0400);
    assert_int_equal(cd_p2p_identity_open(&b, cd_fs_real(), &files, NOW_NS + 1, &why), CD_OK);
    assert_memory_equal(&a.node_id, &b.node_id, sizeof a.node_id);
    assert_memory_equal(a.bls_public, b.bls_public, sizeof a.bls_public);
    assert_memory_equal(a.bls_pop, b.bls_pop, sizeof a.bls_pop);
    cd_bls_pk pk;
    cd_bls_sig pop;
    assert_int_equal(cd_bls_pk_dec(&pk, cd_bytes_of(a.bls_public, 48)), CD_OK);
    assert_int_equal(cd_bls_sig_dec(&pop, cd_bytes_of(a.bls_pop, 96)), CD_OK);
    assert_true(cd_bls_pop_verify(&pop, &pk));
    cd_p2p_identity_close(&b);
    cd_p2p_identity_close(&a);
    cd_p2p_identity_close(&a); /* a second time is fine */
    close_folder(&f);
}

/* A key without its certificate is not overwritten. */
static void key_alone(void **state)
{
    (void)state;
    folder f;
    cd_p2p_identity_files files = open_folder(&f);
    cd_p2p_identity a = {.key = NULL};
    assert_int_equal(cd_p2p_identity_open(&a, cd_fs_real(), &files, NOW_NS, NULL), CD_OK);
    cd_p2p_identity_close(&a);
    assert_int_equal(unlink(f.cert), 0);
    assert_int_equal(cd_p2p_identity_open(&a, cd_fs_real(), &files, NOW_NS, NULL), CD_ENOENT);
    assert_int_equal(access(f.cert, F_OK), -1);
    close_folder(&f);
}

static void refused(void **state)
{
    (void)state;
    folder f;
    cd_p2p_identity_files files = open_folder(&f);
    cd_p2p_identity a = {.key = NULL};
    cd_buf other = {0};
    cd_buf key = {0};
    assert_int_equal(cd_p2p_identity_open(&a, cd_fs_real(), &files, NOW_NS, NULL), CD_OK);
    cd_p2p_identity_close(&a);
    put_file(f.signer, "too short");
    assert_int_equal(cd_p2p_identity_open(&a, cd_fs_real(), &files, NOW_NS, NULL), CD_EFORMAT);
    put_file(f.signer, "\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377"
                       "\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377\377");
    assert_int_equal(cd_p2p_identity_open(&a, cd_fs_real(), &files, NOW_NS, NULL), CD_EKEY);
    assert_int_equal(unlink(f.signer), 0);
    cd_x509_make(&other, &key, NOW_NS);
    put_file(f.cert, cd_buf_cstr(&other));
    assert_int_equal(cd_p2p_identity_open(&a, cd_fs_real(), &files, NOW_NS, NULL), CD_EKEY);
    put_file(f.key, "no key");
    assert_int_equal(cd_p2p_identity_open(&a, cd_fs_real(), &files, NOW_NS, NULL), CD_EFORMAT);
    cd_buf_fini(&other);
    cd_buf_fini(&key);
    close_folder(&f);
}

/* Whatever call to the disk fails, opening gives an error, and the next start works. */
static void disk_fails(void **state)
{
    (void)state;
    static const cd_fs_op ops[] = {CD_FS_WRITE, CD_FS_SYNC, CD_FS_RENAME, CD_FS_MKDIR, CD_FS_READ};
    for (usize i = 0; i < CD_COUNT(ops); i++) {
        bool is_over = false;
        for (u64 at = 1; !is_over; at++) {
            folder f;
            cd_fs_faulty faulty;
            cd_p2p_identity_files files = open_folder(&f);
            cd_p2p_identity a = {.key = NULL};
            cd_fs_faulty_init(&faulty, ops[i], at, 5);
            cd_err e = cd_p2p_identity_open(&a, &faulty.fs, &files, NOW_NS, NULL);
            is_over = faulty.seen < at;
            assert_true(is_over == (e == CD_OK));
            cd_p2p_identity_close(&a);
            assert_int_equal(cd_p2p_identity_open(&a, cd_fs_real(), &files, NOW_NS, NULL), CD_OK);
            cd_p2p_identity_close(&a);
            close_folder(&f);
        }
    }
}

static void in_memory(void **state)
{
    (void)state;
    cd_p2p_identity a = {.key = NULL};
    cd_p2p_identity b = {.key = NULL};
    cd_p2p_identity_files none = {.cert = NULL};
    assert_int_equal(cd_p2p_identity_open(&a, cd_fs_real(), &none, NOW_NS, NULL), CD_OK);
    assert_int_equal(cd_p2p_identity_open(&b, cd_fs_real(), &none, NOW_NS, NULL), CD_OK);
    assert_memory_not_equal(&a.node_id, &b.node_id, sizeof a.node_id);
    cd_p2p_identity_close(&a);
    cd_p2p_identity_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_once),  cmocka_unit_test(key_alone), cmocka_unit_test(refused),
        cmocka_unit_test(disk_fails), cmocka_unit_test(in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
