/* chains/wallet/keys.h - who signs when the node keeps the keys: a user of its keystore (vm/users.h), on one chain.
 *
 *   name, password ──► keys of the user on the chain ──► addresses that pay ──► draft ──► signatures
 *
 * Calls take as long as a password does to stretch. Threading: confined. [spec:node-api#5] [spec:node-api#6] */
#ifndef CD_CHAINS_WALLET_KEYS_H
#define CD_CHAINS_WALLET_KEYS_H

#include "chains/wallet/fund.h"
#include "vm/users.h"

/* The keys of a user on a chain, or those of some of its addresses. */
typedef struct cd_wallet_keys {
    cd_secret secrets; /* cnt times 32 bytes */
    cd_addr20 *addrs;  /* ascending, secrets in the same order */
    cd_addr20 *accts;  /* on the C-Chain, in the same order */
    usize cnt;
    cd_addr20 first; /* address of the key that the user has had longest */
} cd_wallet_keys;

/* cd_wallet_keys_open gives a user's keys; only those of `only` when that is not empty. users may be NULL: there are
 * none. cd_wallet_keys_close wipes them, also after a failure. Errors: CD_EACCES and others, in words for clients. */
cd_err cd_wallet_keys_open(cd_wallet_keys *out, const cd_vm_users *users, const cd_vm_user *user,
                           const cd_hash32 *chain, const cd_addr20 *only, usize only_cnt, cd_arena *a,
                           cd_errinfo *why) CD_CHECK;
void cd_wallet_keys_close(cd_wallet_keys *k);

/* cd_wallet_keys_new has the user keep a new key, and cd_wallet_keys_add one that is there ("PrivateKey-…"); addr is
 * its address, acct (NULL allowed) its account on the C-Chain. Errors: those of cd_vm_users.add; CD_EFORMAT. */
cd_err cd_wallet_keys_new(cd_addr20 *addr, const cd_vm_users *users, const cd_vm_user *user, const cd_hash32 *chain,
                          cd_errinfo *why) CD_CHECK;
cd_err cd_wallet_keys_add(cd_addr20 *addr, cd_addr20 *acct, const cd_vm_users *users, const cd_vm_user *user,
                          const cd_hash32 *chain, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_wallet_keys_text appends the key of an address as "PrivateKey-…". Errors: CD_ENOENT. */
cd_err cd_wallet_keys_text(cd_buf *out, const cd_wallet_keys *k, const cd_addr20 *addr) CD_CHECK;

/* cd_wallet_keys_sign signs a draft with all of them. Errors: CD_EACCES when that is not enough, CD_EKEY. */
cd_err cd_wallet_keys_sign(cd_wallet_draft *d, const cd_wallet_keys *k, cd_errinfo *why) CD_CHECK;

#endif
