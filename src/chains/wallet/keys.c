#include "chains/wallet/keys.h"

#include "base/os/rng.h"
#include "crypto/ec/secp256k1.h"

#include <stdlib.h>

static const char key_mark[] = "PrivateKey-";

enum { SECRET = CD_VM_USER_KEY, MARK = sizeof key_mark - 1 };

static cd_err no_user(const cd_vm_user *user, cd_err e, const char *reason, cd_errinfo *why)
{
    return cd_fail(why, e, "problem retrieving user \"%.*s\": %s", (int)cd_min_u64(user->name.n, 64),
                   (const char *)user->name.p, reason);
}

static cd_err check_users(const cd_vm_users *users, const cd_vm_user *user, cd_errinfo *why)
{
    return users != NULL
               ? CD_OK
               : no_user(user, CD_EUNSUPPORTED,
                         "this node keeps no keys (--api-keystore-enabled); sign yourself and call issueTx", why);
}

static cd_err addr_of(cd_addr20 *out, cd_addr20 *acct, const u8 secret[SECRET])
{
    u8 pub[64];
    CD_TRY(cd_secp256k1_pub(pub, secret));
    cd_secp256k1_short_addr(out, pub);
    if (acct != NULL) {
        cd_secp256k1_addr(acct, pub);
    }
    return CD_OK;
}

/* --- reading --- */

/* A key on its way into the order of addresses. */
typedef struct pair {
    cd_addr20 addr;
    cd_addr20 acct;
    u32 idx; /* in the order of the user */
} pair;

static int by_addr(const void *a, const void *b)
{
    return memcmp(((const pair *)a)->addr.b, ((const pair *)b)->addr.b, sizeof(cd_addr20));
}

static bool is_wanted(const cd_addr20 *addr, const cd_addr20 *only, usize only_cnt)
{
    bool is = only_cnt == 0;
    for (usize i = 0; i < only_cnt && !is; i++) {
        is = memcmp(only[i].b, addr->b, sizeof addr->b) == 0;
    }
    return is;
}

static cd_err sort(cd_wallet_keys *out, const cd_secret *all, usize cnt, const cd_addr20 *only, usize only_cnt,
                   cd_arena *a)
{
    pair *v = cd_arena_array(a, pair, cnt);
    for (usize i = 0; i < cnt; i++) {
        pair p = {.idx = (u32)i};
        CD_TRY(addr_of(&p.addr, &p.acct, all->p + SECRET * i));
        if (is_wanted(&p.addr, only, only_cnt)) {
            v[out->cnt++] = p;
        }
    }
    if (out->cnt == 0) {
        return CD_OK;
    }
    out->first = v[0].addr;
    qsort(v, out->cnt, sizeof *v, by_addr);
    out->addrs = cd_arena_array(a, cd_addr20, out->cnt);
    out->accts = cd_arena_array(a, cd_addr20, out->cnt);
    cd_secret_init(&out->secrets, SECRET * out->cnt);
    for (usize i = 0; i < out->cnt; i++) {
        out->addrs[i] = v[i].addr;
        out->accts[i] = v[i].acct;
        memcpy(out->secrets.p + SECRET * i, all->p + (usize)SECRET * v[i].idx, SECRET);
    }
    return CD_OK;
}

cd_err cd_wallet_keys_open(cd_wallet_keys *out, const cd_vm_users *users, const cd_vm_user *user,
                           const cd_hash32 *chain, const cd_addr20 *only, usize only_cnt, cd_arena *a, cd_errinfo *why)
{
    cd_secret all = {0};
    usize cnt = 0;
    cd_errinfo said = {0};
    *out = (cd_wallet_keys){.cnt = 0};
    CD_TRY(check_users(users, user, why));
    cd_err e = users->keys(users, &all, &cnt, user, chain, &said);
    if (e != CD_OK) {
        return no_user(user, e, said.msg, why);
    }
    e = sort(out, &all, cnt, only, only_cnt, a);
    cd_secret_fini(&all);
    return e == CD_OK ? CD_OK : no_user(user, e, cd_err_str(e), why);
}

void cd_wallet_keys_close(cd_wallet_keys *k)
{
    cd_secret_fini(&k->secrets);
    *k = (cd_wallet_keys){.cnt = 0};
}

/* --- keeping --- */

static cd_err keep(cd_addr20 *addr, cd_addr20 *acct, const cd_vm_users *users, const cd_vm_user *user,
                   const cd_hash32 *chain, const u8 secret[SECRET], cd_errinfo *why)
{
    cd_errinfo said = {0};
    cd_err e = users->add(users, user, chain, secret, &said);
    if (e == CD_OK) {
        return addr_of(addr, acct, secret);
    }
    return no_user(user, e, said.msg, why);
}

cd_err cd_wallet_keys_new(cd_addr20 *addr, const cd_vm_users *users, const cd_vm_user *user, const cd_hash32 *chain,
                          cd_errinfo *why)
{
    u8 secret[SECRET];
    cd_rng rng = cd_rng_os();
    CD_TRY(check_users(users, user, why));
    do {
        cd_rng_fill(&rng, secret, sizeof secret);
    } while (addr_of(addr, NULL, secret) != CD_OK); /* one in 2^128 is no key */
    cd_err e = keep(addr, NULL, users, user, chain, secret, why);
    cd_wipe(secret, sizeof secret);
    return e;
}

cd_err cd_wallet_keys_add(cd_addr20 *addr, cd_addr20 *acct, const cd_vm_users *users, const cd_vm_user *user,
                          const cd_hash32 *chain, cd_bytes text, cd_errinfo *why)
{
    cd_hash32 secret;
    cd_errinfo said = {0};
    CD_TRY(check_users(users, user, why));
    if (text.n == 0) {
        return cd_fail(why, CD_EINVAL, "argument 'privateKey' not given");
    }
    if (text.n < MARK || memcmp(text.p, key_mark, MARK) != 0) {
        return cd_fail(why, CD_EFORMAT, "problem parsing private key: it begins with \"%s\"", key_mark);
    }
    if (cd_id_parse(&secret, cd_bytes_sub(text, MARK, text.n - MARK), &said) != CD_OK) {
        return cd_fail(why, CD_EFORMAT, "problem parsing private key: %s", said.msg);
    }
    cd_err e = keep(addr, acct, users, user, chain, secret.b, why);
    cd_wipe(&secret, sizeof secret);
    return e;
}

cd_err cd_wallet_keys_text(cd_buf *out, const cd_wallet_keys *k, const cd_addr20 *addr)
{
    for (usize i = 0; i < k->cnt; i++) {
        if (memcmp(k->addrs[i].b, addr->b, sizeof addr->b) == 0) {
            cd_hash32 secret;
            memcpy(secret.b, k->secrets.p + SECRET * i, SECRET);
            cd_buf_str(out, key_mark);
            cd_id_put(out, &secret);
            cd_wipe(&secret, sizeof secret);
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

cd_err cd_wallet_keys_sign(cd_wallet_draft *d, const cd_wallet_keys *k, cd_errinfo *why)
{
    u32 given;
    cd_err e = k->cnt == 0 ? CD_OK : cd_wallet_sign(d, &given, (const u8(*)[SECRET])(const void *)k->secrets.p, k->cnt);
    if (e != CD_OK) {
        return cd_fail(why, e, "the keys cannot sign: %s", cd_err_str(e));
    }
    return cd_wallet_missing(d) == NULL ? CD_OK : cd_fail(why, CD_EACCES, "from addresses have no keys or funds");
}
