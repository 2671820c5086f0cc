/* chains/evmchain/dev/names.h - functions and errors of contracts by selector, for the log: what compilers say of their
 * contracts (ABIs) in, words out.
 *
 *   {"type":"function","name":"transfer","inputs":[…]} ──► a9059cbb ──► "transfer(0x7099…79C8, 1,000,000)"
 *
 * Of two with one selector the first stays. Bounded; what is more is not taken in. Threading: shared.
 * [spec:dev-rpc#2.6] */
#ifndef CD_CHAINS_EVMCHAIN_DEV_NAMES_H
#define CD_CHAINS_EVMCHAIN_DEV_NAMES_H

#include "codec/json.h"

typedef struct cd_names cd_names;

/* cd_names_new knows no names yet; cd_names_free forgets them (NULL is allowed). */
cd_names *cd_names_new(void);
void cd_names_free(cd_names *n);

/* cd_names_add takes in an ABI, an array. Errors: CD_EFORMAT, CD_EDEPTH with what is wrong; entries before it stay. */
cd_err cd_names_add(cd_names *n, cd_json abi, cd_errinfo *why) CD_CHECK;

/* cd_names_put appends name and arguments of data, call data or an error's; false when the selector is not known or the
 * arguments do not fit it. */
bool cd_names_put(cd_names *n, cd_buf *out, cd_bytes data);

#endif
