/* wallet/hd.h - keys from a phrase: BIP-39 seed, BIP-32 derivation, BIP-44 path of Ethereum accounts.
 *
 *   phrase ──PBKDF2──► seed ──HMAC──► master ──m/44'/60'/0'/0/i──► secret i
 *
 * Phrases are not checked against a word list here. Threading: pure. */
#ifndef CD_WALLET_HD_H
#define CD_WALLET_HD_H

#include "base/bytes.h"

/* Added to an index to make a step hardened. */
#define CD_HD_HARDENED 0x80000000u

/* cd_hd_seed stretches a phrase and an optional pass phrase into 64 bytes (BIP-39). */
void cd_hd_seed(u8 seed[64], const char *phrase, const char *pass_phrase);

/* cd_hd_derive walks steps from the master key of seed. Errors: CD_EKEY for the one index in 2^127 that has no
 * key. */
cd_err cd_hd_derive(u8 secret[32], const u8 seed[64], const u32 *steps, usize step_cnt) CD_CHECK;

/* cd_hd_account derives the secret of Ethereum account idx: m/44'/60'/0'/0/idx. Errors: as derive. */
cd_err cd_hd_account(u8 secret[32], const u8 seed[64], u32 idx) CD_CHECK;

/* cd_hd_is_public: the secret is in every tutorial, one of the first accounts of the phrase below or the test key of
 * local networks. [spec:decisions#D17] */
bool cd_hd_is_public(const u8 secret[32]);

/* cd_hd_own_ok refuses a secret that is public as somebody's own on a network that is not for tests: what lies on its
 * account is everybody's. Errors: CD_EACCES with the reason. [spec:decisions#D17] */
cd_err cd_hd_own_ok(const u8 secret[32], u32 network_id, cd_errinfo *why) CD_CHECK;

/* The phrase whose accounts Hardhat and Anvil fund; refused as own keys on public networks [spec:decisions#D17]. */
extern const char CD_HD_DEV_PHRASE[];

#endif
