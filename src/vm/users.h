/* vm/users.h - keys that the node keeps for people: users with a password, each with keys on each chain. The node
 * implements it for its VMs; it is there only where the operator wants a keystore.
 *
 * A call stretches the password: a tenth of a second and 64 MiB, one at a time, so never on the executor or the loop.
 * Threading: shared. [spec:node-api#9] */
#ifndef CD_VM_USERS_H
#define CD_VM_USERS_H

#include "base/mem/secret.h"
#include "codec/ids.h"

/* Who asks. */
typedef struct cd_vm_user {
    cd_bytes name;
    cd_bytes password;
} cd_vm_user;

/* Most keys of a user on one chain, and bytes of a key. */
enum { CD_VM_USER_KEYS_MAX = 5000, CD_VM_USER_KEY = 32 };

typedef struct cd_vm_users cd_vm_users;
struct cd_vm_users {
    /* keys gives the secret keys of a user on a chain, in the order in which they came; the caller ends out, which is
     * empty (p NULL) for no keys. Errors, with the words for the client: CD_EACCES, CD_ELIMIT, the store's. */
    cd_err (*keys)(const cd_vm_users *u, cd_secret *out, usize *cnt, const cd_vm_user *user, const cd_hash32 *chain,
                   cd_errinfo *why);
    /* add keeps one more; one that is there already is no error. Errors: those of keys; CD_ELIMIT when there are too
     * many; CD_EKEY for what is no key. */
    cd_err (*add)(const cd_vm_users *u, const cd_vm_user *user, const cd_hash32 *chain, const u8 secret[CD_VM_USER_KEY],
                  cd_errinfo *why);
};

#endif
