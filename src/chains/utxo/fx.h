/* chains/utxo/fx.h - who may spend: the extension secp256k1fx, as the P-, X- and C-Chain use it.
 *
 * A transaction is signed by its owners: the input says by index which addresses have signed, the credential holds
 * one signature for each, over the hash of the unsigned bytes. Functions here say whether that is enough, with the
 * original's checks, order and words; the word of a code that they return lies in the original, too, so callers put
 * their own in front of *why.
 *
 *   signatures of a block ──► cd_fx_recover (side by side) ──► memory of signers ◄── cd_fx_spend, _permit, _check
 *
 * Recovering the signer of a signature is what costs; a bounded memory of (hash, signature) → address lets a
 * transaction that was in the pool cost nothing in its block. Threading: cd_fx confined; what takes none is pure.
 * [spec:pchain-xchain#3] */
#ifndef CD_CHAINS_UTXO_FX_H
#define CD_CHAINS_UTXO_FX_H

#include "types/utxo.h"

typedef struct cd_fx cd_fx;

/* cd_fx_new remembers at most cnt signers (0: 4096). */
cd_fx *cd_fx_new(usize cnt) __attribute__((returns_nonnull));
void cd_fx_free(cd_fx *fx); /* NULL is allowed */

/* --- shape: what can be said without the output that is spent --- */

/* Errors of all: CD_EINVAL with what is wrong. */
cd_err cd_fx_owners_ok(const cd_owners *o, cd_errinfo *why) CD_CHECK;
cd_err cd_fx_output_ok(const cd_transfer_output *o, cd_errinfo *why) CD_CHECK;
cd_err cd_fx_input_ok(const cd_transfer_input *in, cd_errinfo *why) CD_CHECK;
/* cd_fx_indices_ok takes a list of u32. */
cd_err cd_fx_indices_ok(const cd_linear_list *sig_indices, cd_errinfo *why) CD_CHECK;

/* --- permission --- */

/* Under what something is allowed. hash NULL: signatures are counted and not looked at, as while bootstrapping. */
typedef struct cd_fx_at {
    const cd_hash32 *hash; /* what was signed: cd_fx_hash of the unsigned bytes */
    u64 now;               /* the chain's clock, Unix seconds */
} cd_fx_at;

/* cd_fx_hash is the hash that signers of a transaction sign: SHA-256 of its bytes without the credentials. */
void cd_fx_hash(cd_hash32 *out, cd_bytes unsigned_bytes);

/* cd_fx_check: may those whose signatures are in cred act for owners? Indices and owners were found well-formed
 * before. Errors: CD_EACCES with the original's text; CD_ESIG for a signature that is none. */
cd_err cd_fx_check(cd_fx *fx, const cd_fx_at *at, const cd_linear_list *sig_indices, const cd_credential *cred,
                   const cd_owners *owners, cd_errinfo *why) CD_CHECK;

/* cd_fx_spend: may in with cred spend out? Looks at the shape of out and in, the amounts, then as cd_fx_check. Errors:
 * CD_EINVAL, CD_EACCES, CD_ESIG. */
cd_err cd_fx_spend(cd_fx *fx, const cd_fx_at *at, const cd_transfer_input *in, const cd_credential *cred,
                   const cd_transfer_output *out, cd_errinfo *why) CD_CHECK;

/* cd_fx_permit: may in with cred act for owner, of a net say? Shape of in and owner, then as cd_fx_check. Errors:
 * those of cd_fx_spend. */
cd_err cd_fx_permit(cd_fx *fx, const cd_fx_at *at, const cd_auth_input *in, const cd_credential *cred,
                    const cd_owners *owner, cd_errinfo *why) CD_CHECK;

/* --- signers --- */

/* A transaction whose signers will be asked for. */
typedef struct cd_fx_signed {
    cd_hash32 hash;
    const cd_linear_list *creds; /* cd_linear_any, each a cd_credential */
} cd_fx_signed;

/* cd_fx_recover finds the signers of all signatures of cnt transactions side by side and remembers them, as far as
 * there is room; what is no signature is left for cd_fx_check to refuse. */
void cd_fx_recover(cd_fx *fx, const cd_fx_signed *txs, usize cnt);

/* cd_fx_sign appends to sigs one signature over hash by each of cnt secrets. Errors: CD_EKEY. */
cd_err cd_fx_sign(cd_signature *sigs, const cd_hash32 *hash, const u8 (*secrets)[32], usize cnt) CD_CHECK;

/* cd_fx_match: can holders of cnt addresses (sorted) spend what owners own at now? Then indices (at most max, as many
 * as the threshold) says which of the owners' addresses sign. False as well when the threshold is above max. */
bool cd_fx_match(u32 *indices, u32 max, const cd_owners *owners, const cd_addr20 *addrs, usize cnt, u64 now);

#endif
