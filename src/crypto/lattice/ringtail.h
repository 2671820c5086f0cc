/* crypto/lattice/ringtail.h - Ringtail: a lattice-based threshold signature in two rounds. At least t of n parties
 * sign together, and nobody holds the secret key. Whoever has the group's public key can verify.
 *
 *   dealer ── shares ──► party: round1 ── D, tags ──► all ── joint ──► round2 ── z ──► finalize ──► signature
 *                                 └ session: secrets that serve one answer, then are gone ┘
 *
 * The encodings, verification and the uniform numbers are those of the public Go library; the bell curves are drawn by
 * integers of our own (sample.h), so that signing together wants this library on all sides. Threading: keys and
 * signatures are frozen, a session is confined. [spec:finality#3] */
#ifndef CD_CRYPTO_RINGTAIL_H
#define CD_CRYPTO_RINGTAIL_H

#include "base/mem/secret.h"
#include "crypto/hash/blake3.h"
#include "crypto/lattice/poly.h"

/* Rows and columns of the group's matrix; columns of a commitment, not counting the first; the most parties that may
 * share a key. */
enum { CD_RT_ROWS = 8, CD_RT_COLS = 7, CD_RT_COMMITS = 48, CD_RT_PARTIES_MAX = 128 };

/* --- public keys and signatures --- */

/* A group's public key; it is large, so keep it on the heap. */
typedef struct cd_rt_key {
    cd_lpoly a[CD_RT_ROWS * CD_RT_COLS]; /* slots times 2^64 */
    cd_lpoly rounded[CD_RT_ROWS];        /* the published part of b: its upper 18 bits */
    cd_lpoly b[CD_RT_ROWS];              /* made from rounded: slots times 2^64 */
    cd_blake3 hashed;                    /* a hash that has read the encodings of a and rounded */
} cd_rt_key;

/* cd_rt_key_read reads the encodings of the matrix and the rounded vector, which must fill bytes. Errors: CD_EFORMAT,
 * CD_ESHORT. cd_rt_key_put appends the two encodings. cd_rt_key_id gives their SHA-256. */
cd_err cd_rt_key_read(cd_rt_key *key, cd_bytes bytes) CD_CHECK;
void cd_rt_key_put(cd_buf *out, const cd_rt_key *key);
void cd_rt_key_id(cd_hash32 *out, const cd_rt_key *key);

/* A signature. */
typedef struct cd_rt_sig {
    cd_lpoly c;                 /* slots times 2^64 */
    cd_lpoly z[CD_RT_COLS];     /* slots times 2^64 */
    cd_lpoly delta[CD_RT_ROWS]; /* coefficients below 2^19 */
} cd_rt_sig;

/* Bytes of an encoded signature. */
enum { CD_RT_SIG_BYTES = (1 + CD_RT_COLS + CD_RT_ROWS) * (4 + CD_LPOLY_BYTES) + 2 * 8 };

/* cd_rt_sig_put appends c as a u32 length and its encoding, then z and delta as the u32 length of what follows, a u32
 * count, and each polynomial like c. cd_rt_sig_read reads that and leaves the rest of r to the caller. Numbers of z and
 * c have one encoding; those of delta that are too large are for cd_rt_verify to refuse. */
void cd_rt_sig_put(cd_buf *out, const cd_rt_sig *sig);
void cd_rt_sig_read(cd_rd *r, cd_rt_sig *sig);

/* cd_rt_verify says whether the group signed the message. It takes no memory but 32 KiB of the stack. */
bool cd_rt_verify(const cd_rt_key *key, const cd_rt_sig *sig, cd_bytes message);

/* --- shares --- */

/* One party's share of the key, with the seeds of the masks that it adds and subtracts, and the keys by which it and
 * each other party authenticate their messages. It lies in pages that are not swapped out. */
typedef struct cd_rt_share {
    u32 index; /* of the party, from 0 */
    u32 parties;
    u32 threshold;
    cd_lpoly part[CD_RT_COLS]; /* slots times 2^64 */
    u8 seed_to[CD_RT_PARTIES_MAX][32];
    u8 seed_from[CD_RT_PARTIES_MAX][32];
    u8 tag_key[CD_RT_PARTIES_MAX][32];
} cd_rt_share;

/* cd_rt_deal makes a key for n parties of which t sign, 2 <= t <= n <= CD_RT_PARTIES_MAX. dealer_key decides the public
 * matrix; the secrets come from it and from secret, which must be random. shares are n secrets, not yet initialised,
 * which get one cd_rt_share each; the caller calls cd_secret_fini on them. */
void cd_rt_deal(cd_rt_key *key, cd_secret *shares, u32 n, u32 t, const u8 dealer_key[32], const u8 secret[32]);

/* cd_rt_share_put appends a share's encoding, which has as many seeds and keys as the group has parties.
 * cd_rt_share_read makes *out, a secret not yet initialised. Errors: CD_EFORMAT, CD_ESHORT; then no secret is made. */
void cd_rt_share_put(cd_buf *out, const cd_rt_share *share);
cd_err cd_rt_share_read(cd_secret *out, cd_bytes bytes) CD_CHECK;

/* --- signing --- */

/* Who signs in a session: distinct indices in rising order, at least threshold of them. */
typedef struct cd_rt_set {
    u64 session;
    u32 cnt;
    u32 party[CD_RT_PARTIES_MAX];
} cd_rt_set;

/* cd_rt_set_is_good says whether the set is as described above, for a group of so many parties. */
bool cd_rt_set_is_good(const cd_rt_set *set, u32 parties, u32 threshold);

/* The secrets that the first round drew: they serve one second round, and only one. */
typedef struct cd_rt_session cd_rt_session;

/* cd_rt_round1 draws what the party commits to: *out, D's encoding appended to d, and for each other party of the set a
 * tag (tags[k] for set->party[k]; its own is zero). fresh are 32 bytes that were never used and will never be used
 * again. Errors: CD_EINVAL for a set that is not good or that lacks this party. */
cd_err cd_rt_round1(cd_rt_session **out, cd_buf *d, u8 (*tags)[32], const cd_rt_key *key, const cd_rt_share *share,
                    const cd_rt_set *set, const u8 fresh[32]) CD_CHECK;
void cd_rt_session_end(cd_rt_session *s); /* wipes it; NULL is allowed */

/* What all parties compute alike from the first round: the challenge. It is large, so keep it on the heap. */
typedef struct cd_rt_joint {
    cd_rt_set set;
    u8 hash[32];
    cd_lpoly u[1 + CD_RT_COMMITS]; /* slots times 2^64; the first is 1 */
    cd_lpoly h[CD_RT_ROWS];
    cd_lpoly c; /* slots times 2^64 */
} cd_rt_joint;

/* cd_rt_joint_make reads the encodings of D; d[k] is that of set->party[k]. Errors: CD_EFORMAT (d[*bad] is malformed),
 * CD_EINVAL when it is not safe to sign with the sum (its columns do not span the space). */
cd_err cd_rt_joint_make(cd_rt_joint *out, u32 *bad, const cd_rt_key *key, const cd_rt_set *set, const cd_bytes *d,
                        cd_bytes message) CD_CHECK;

/* cd_rt_round2 appends the encoding of z, and ends the session even when it fails: *s is NULL afterwards. d is as in
 * joint_make, tags[k] the tag that set->party[k] sent to this party, prf_key the same for all. Errors: CD_ESIG
 * (tags[*bad] is wrong), CD_EINVAL when the joint is of another session or lacks this party's own D. */
cd_err cd_rt_round2(cd_buf *z, u32 *bad, cd_rt_session **s, const cd_rt_share *share, const cd_rt_joint *joint,
                    const cd_bytes *d, const u8 (*tags)[32], const u8 prf_key[32], cd_bytes message) CD_CHECK;

/* cd_rt_finalize adds up the answers, where z[k] is the encoding that set->party[k] sent, and verifies the sum. Errors:
 * CD_EFORMAT (z[*bad] is malformed), CD_ESIG when the sum is no signature, as some party has lied. */
cd_err cd_rt_finalize(cd_rt_sig *out, u32 *bad, const cd_rt_key *key, const cd_rt_joint *joint, const cd_bytes *z,
                      cd_bytes message) CD_CHECK;

#endif
