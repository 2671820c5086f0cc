/* vm/signer.h - the node's BLS key, as VMs may use it: to sign Warp messages, never to see it.
 *
 * Whoever signs has checked before what the message says, and that it is of this network and its own chain.
 * Threading: shared. [spec:warp#6] [spec:warp#8] */
#ifndef CD_VM_SIGNER_H
#define CD_VM_SIGNER_H

#include "base/bytes.h"

/* The signer, with the public key that its signatures verify under. */
typedef struct cd_vm_signer cd_vm_signer;
struct cd_vm_signer {
    u8 key[48]; /* compressed */
    /* sign signs an unsigned message's bytes under the suite of messages. Errors: CD_EKEY. */
    cd_err (*sign)(const cd_vm_signer *s, u8 out[96], cd_bytes msg);
};

#endif
