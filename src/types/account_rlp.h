/* types/account_rlp.h - an account as the state trie stores it.
 *
 *   4 fields: [nonce, balance, storageRoot, codeHash]                     Ethereum and the L1 profile
 *   5 fields: [nonce, balance, storageRoot, codeHash, isMultiCoin]        the C profile
 *
 * The fifth field belongs to a feature that is long disabled: false is written, either value is
 * read. Threading: pure. [spec:evm-chain#4] */
#ifndef CD_TYPES_ACCOUNT_RLP_H
#define CD_TYPES_ACCOUNT_RLP_H

#include "codec/rlp.h"
#include "types/account.h"

/* Fields of an account in the trie: four as in Ethereum, or five with the flag isMultiCoin. */
typedef enum cd_account_form {
    CD_ACCOUNT_4,
    CD_ACCOUNT_5,
} cd_account_form;

/* Longest encoding of either form. */
enum { CD_ACCOUNT_RLP_MAX = 2 + 9 + 33 + 33 + 33 + 1 };

/* cd_account_enc writes the encoding to out and gives its length. */
usize cd_account_enc(u8 out[CD_ACCOUNT_RLP_MAX], const cd_account *a, cd_account_form form);

/* cd_account_dec reads a whole encoding. Errors: those of codec/rlp.h. */
cd_err cd_account_dec(cd_account *out, cd_account_form form, cd_bytes in) CD_CHECK;

#endif
