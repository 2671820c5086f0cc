/* finality/finality_priv.h - the state that the files of the protocol share. Threading: confined. */
#ifndef CD_FINALITY_PRIV_H
#define CD_FINALITY_PRIV_H

#include "base/table/hmap.h"
#include "finality/cert/book.h"
#include "finality/finality.h"

enum { CD__FIN_MS = 1000000 };

/* What came of a message: it is dealt with, or it may be of use later. */
typedef enum cd__fin_fate { CD__FIN_DONE, CD__FIN_LATER, CD__FIN_REFUSED } cd__fin_fate;

/* A signature of M by one validator. */
typedef struct cd__fin_share {
    u32 index;
    u8 sig[CD_BLS_SIG_LEN];
} cd__fin_share;
typedef struct cd__fin_stamp {
    u32 index;
    u8 sig[CD_MLDSA_SIG];
} cd__fin_stamp;

/* An accepted block on its way. */
typedef struct cd__fin_block {
    cd_fin_msg msg;
    u8 text[CD_FIN_MSG_BYTES]; /* msg, as it is signed */
    u64 height;
    u64 epoch; /* its number */
    u64 begun_ns;
    u64 resend_ns;
    bool signs;   /* this node signs it */
    bool is_bls;  /* the aggregate stands */
    bool is_done; /* it is final, or one above it is */
    bool wants_stamps;
    bool has_stamped;
    u64 bls_ns;    /* since when it is_bls */
    u64 stamps_ns; /* until when stamps are collected */
    u64 restamp_ns;
    u32 attempts;   /* of lattice sessions, that have begun */
    cd_buf heard;   /* bits of those whose share came, good or bad */
    cd_buf shares;  /* cd__fin_share */
    u64 weight;     /* of shares */
    cd_buf stamped; /* bits of those whose stamp came */
    cd_buf stamps;  /* cd__fin_stamp, all good */
    u64 stamp_weight;
    u8 aggregate[CD_BLS_SIG_LEN]; /* these: once it is_bls */
    cd_buf bits;
    u64 signed_by;
} cd__fin_block;

/* What of a session is computed at the moment; a job writes its results alone, which the thread then takes over. */
typedef enum cd__fin_task { CD__FIN_IDLE, CD__FIN_ROUND1, CD__FIN_ROUND2, CD__FIN_FINISH } cd__fin_task;

/* One lattice session. */
struct cd__fin_chain;
typedef struct cd__fin_session {
    cd__fin_block *block;
    struct cd__fin_chain *chain;
    const cd_rt_key *group;
    const cd_rt_share *share;
    u8 text[CD_FIN_MSG_BYTES];
    u8 masks[32];
    cd__fin_task task;
    bool is_dropped; /* nobody wants it any more, but for the job that goes on */
    u8 fresh[32];    /* of the first round, until it is computed */
    cd_err err;      /* results: of the task, and who is at fault */
    u32 bad;
    cd_buf made; /* D or z */
    u8 made_tags[CD_RT_PARTIES_MAX][32];
    cd_rt_joint *made_joint;
    cd_rt_sig *sig;
    u32 attempt;
    cd_rt_set set;
    u32 me; /* place in the set */
    cd_rt_session *secrets;
    cd_buf d[CD_RT_PARTIES_MAX]; /* by place */
    u8 tags[CD_RT_PARTIES_MAX][32];
    cd_buf z[CD_RT_PARTIES_MAX];
    u32 d_cnt;
    u32 z_cnt;
    bool is_bad[CD_RT_PARTIES_MAX];
    cd_rt_joint *joint; /* NULL: in the first round */
    u64 begun_ns;
    u64 until_ns;
} cd__fin_session;

/* A chain. blocks rise by height. */
typedef struct cd__fin_chain {
    cd_hash32 id;
    cd__fin_block *blocks[CD_FINALITY_BLOCKS_MAX];
    u32 cnt;
    bool has_final;
    u64 final_height;
    u64 tip;    /* height of the newest accepted block */
    u64 finals; /* final certificates that were ever stored */
    u64 kept_hour;
    u64 pace_ns; /* no session before */
    u64 ask_ns;  /* no question before */
    u64 progress_ns;
    cd__fin_session *session;
    /* When a session has failed and another attempt is due at retry_ns. */
    cd__fin_block *retry;
    cd_rt_set retry_set;
    u64 retry_ns;
    u64 away_ns[CD_RT_PARTIES_MAX]; /* parties that are left out until then */
    u64 away_epoch;
    bool has_news; /* what was held may be of use */
} cd__fin_chain;

/* What a validator has signed of an epoch: which of the two, and the signatures. */
enum { CD__FIN_SIGNED_BLS = 1, CD__FIN_SIGNED_MLDSA = 2 };
typedef struct cd__fin_witness {
    u8 has;
    u8 bls[CD_BLS_SIG_LEN];
    u8 mldsa[CD_MLDSA_SIG];
} cd__fin_witness;

/* A turn to the newest epoch (turns.c), and what is kept of one: the certificate by set, the epoch, each signature. */
typedef struct cd__fin_turn cd__fin_turn;
typedef struct cd__fin_turned {
    u64 number;
    cd_bytes cert;
    cd_bytes point;
    const cd_fin_set *set;
    const cd__fin_witness *all; /* by place in set */
    const cd_fin_msg *msg;
} cd__fin_turned;

/* An ML-DSA key that was announced. */
typedef struct cd__fin_key {
    u8 key[CD_MLDSA_PK]; /* first, so that who finds one has the key */
    u64 number;
    bool has_proof;
    u8 proof[CD_BLS_SIG_LEN];
    u64 paced_ns; /* when it took the place of another; 0: it did not since the start */
} cd__fin_key;

/* A message that came too early. */
typedef struct cd__fin_held {
    cd_node_id from;
    cd_hash32 chain;
    u64 until_ns;
    cd_buf bytes;
} cd__fin_held;

/* How a peer behaves. */
typedef struct cd__fin_peer {
    u64 window_ns; /* when the second began that is counted */
    u32 heard;     /* messages in it */
    u32 strikes;   /* bad ones, less one a minute */
    u64 strike_ns;
    u64 muted_ns;
} cd__fin_peer;

enum { CD__FIN_HELD_MAX = 2048, CD__FIN_HELD_BYTES = 128 << 20, CD__FIN_PEERS_MAX = 8192 };

struct cd_finality {
    cd_finality_cfg cfg;
    cd_fin_epochs epochs;
    cd_hmap keys;  /* cd_node_id to cd__fin_key */
    u64 keys_view; /* another whenever they change */
    cd__fin_turn *turn;
    cd_hmap peers;
    cd__fin_chain *chains[CD_FINALITY_CHAINS_MAX];
    u32 chain_cnt;
    cd__fin_held *held[CD__FIN_HELD_MAX];
    u32 held_cnt;
    usize held_bytes;
    cd_fin_room *room;
    cd_fin_validator *seated; /* a set with its ML-DSA keys, made by cd__fin_set */
    cd_finality_stats stats;
};

/* cd__fin_span gives the epoch of a block, NULL: it is gone. cd__fin_me is this node's index in it, or cnt. */
cd_fin_span *cd__fin_span(cd_finality *f, const cd__fin_block *b);
u32 cd__fin_me(const cd_finality *f, const cd_fin_span *s);

/* cd__fin_set gives the set with ML-DSA keys and group, for verifying; until the next call. */
cd_fin_set cd__fin_set(cd_finality *f, const cd_fin_span *s);

/* cd__fin_replay looks at what was held again, where there is news. */
void cd__fin_replay(cd_finality *f, u64 now);

/* cd__fin_find finds the block with this message, or NULL. cd__fin_note_bit sets a bit and says whether it was not
 * set. */
cd__fin_block *cd__fin_find(cd__fin_chain *c, const cd_fin_msg *msg);
bool cd__fin_note_bit(cd_buf *bits, u32 i);

/* cd__fin_say tells all others of the epoch a message; only: those whose index is in the set (NULL: all). */
void cd__fin_say(cd_finality *f, const cd_fin_span *s, const cd_fin_says *says, const cd_rt_set *only);

/* cd__fin_on_* deal with a message of a kind, which came from the node. */
cd__fin_fate cd__fin_on_share(cd_finality *f, cd__fin_chain *c, const cd_node_id *from, const cd_fin_says *s, u64 now);
cd__fin_fate cd__fin_on_round1(cd_finality *f, cd__fin_chain *c, const cd_node_id *from, const cd_fin_says *s, u64 now);
cd__fin_fate cd__fin_on_round2(cd_finality *f, cd__fin_chain *c, const cd_node_id *from, const cd_fin_says *s, u64 now);
cd__fin_fate cd__fin_on_stamp(cd_finality *f, cd__fin_chain *c, const cd_node_id *from, const cd_fin_says *s, u64 now);
cd__fin_fate cd__fin_on_cert(cd_finality *f, cd__fin_chain *c, const cd_fin_says *s, u64 now);
cd__fin_fate cd__fin_on_key(cd_finality *f, const cd_node_id *from, const cd_fin_says *s, u64 now);

/* cd__fin_own_share signs a block and tells the others. */
void cd__fin_own_share(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, u64 now);

/* cd__fin_help gives a node the certificate of a block: who still signs when all others are content has missed it. */
void cd__fin_help(cd_finality *f, const cd__fin_chain *c, const cd__fin_block *b, const cd_node_id *to);

/* cd__fin_rounds_tick and cd__fin_stamps_tick begin, end and repeat what is due, and give when they want to be called
 * again. cd__fin_stamps_begin has the block stamped. cd__fin_session_drop ends the chain's session. */
u64 cd__fin_rounds_tick(cd_finality *f, cd__fin_chain *c, u64 now);
u64 cd__fin_stamps_tick(cd_finality *f, cd__fin_chain *c, u64 now);
void cd__fin_stamps_begin(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, u64 now);
void cd__fin_session_drop(cd__fin_chain *c);

/* cd__fin_stamps_forget drops the stamps of a node, whose key is another now, from blocks that are not final. */
void cd__fin_stamps_forget(cd_finality *f, const cd_node_id *node);

/* cd__fin_on_turn deals with what is said of the chain of sets, cd__fin_turn_tick begins and repeats it and gives when
 * it wants to be called again. cd__fin_turn_free lets it go. */
cd__fin_fate cd__fin_on_turn(cd_finality *f, const cd_node_id *from, const cd_fin_says *s);
u64 cd__fin_turn_tick(cd_finality *f, u64 now);
void cd__fin_turn_free(cd_finality *f);

/* cd__fin_key_is_late says whether the key of a validator is another than the one that its epoch was signed with. */
bool cd__fin_key_is_late(cd_finality *f, const cd_fin_span *s, u32 index);

/* What is kept of turns. cd__fin_get_point replaces out by an epoch, as a checkpoint; cd__fin_book_of opens one, NULL:
 * it is none; release it by cd_free. cd__fin_get_witnesses fills all (places of the set) with the signatures of an
 * epoch by members of the set, cd__fin_put_witnesses keeps them; cd__fin_put_turned keeps all of a turn, false: the
 * store failed. cd__fin_witness_cert appends the certificate that the signatures make, which is not verified. */
cd_err cd__fin_get_point(cd_kv *kv, cd_buf *out, u64 number) CD_CHECK;
cd_err cd__fin_put_point(cd_kv *kv, u64 number, cd_bytes point) CD_CHECK;
cd_fin_book *cd__fin_book_of(cd_bytes point);
cd_err cd__fin_get_witnesses(cd_kv *kv, cd__fin_witness *all, cd_fin_msg *msg, const cd_fin_set *set,
                             u64 number) CD_CHECK;
bool cd__fin_put_witnesses(cd_kv *kv, const cd__fin_witness *all, const cd_fin_msg *msg, const cd_fin_set *set,
                           u64 number);
bool cd__fin_put_turned(cd_kv *kv, const cd__fin_turned *t);
void cd__fin_witness_cert(cd_buf *out, const cd_fin_set *set, const cd_fin_msg *msg, const cd__fin_witness *all,
                          bool by_mldsa);

/* cd__fin_announce appends this node's ML-DSA key with its proof; false: it has none. */
bool cd__fin_announce(cd_finality *f, cd_buf *out);

/* cd__fin_certify completes a certificate by what the block has, verifies, stores and tells it; its bytes are
 * appended. False: it is not true, or could not be stored. */
bool cd__fin_certify(cd_finality *f, cd__fin_chain *c, cd__fin_block *b, cd_fin_cert *cert, cd_buf *bytes, u64 now);

/* cd__fin_load reads what the store has of a chain, cd__fin_keys_open the ML-DSA keys, and makes the own one known. */
cd_err cd__fin_load(cd_finality *f, cd__fin_chain *c);
cd_err cd__fin_keys_open(cd_finality *f);
cd_err cd__fin_store_epochs(cd_finality *f);
cd_err cd__fin_load_epochs(cd_finality *f);

#endif
