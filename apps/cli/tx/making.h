/* apps/cli/tx/making.h - transactions by name: each is made from the flags of the command.
 *
 *   name ──► row: chain, function ──► body + needs ──► fund (chains/wallet) ──► draft
 *
 * Threading: the main thread. */
#ifndef CD_APPS_CLI_MAKING_H
#define CD_APPS_CLI_MAKING_H

#include "tx/payer.h"

/* The options by which transactions are described. */
// clang-format off
#define CD__MAKE_OPTIONS(X)                                                                                            \
    X(MAKE_TO, .name = "to", .type = CD_ARG_LIST, .meta = "ADDRESS", .group = "What the transaction says",             \
      .help = "who gets it; oneself when not given. Several own it together")                                          \
    X(MAKE_THRESHOLD, .name = "threshold", .type = CD_ARG_U64, .dflt = "1", .max = 256, .meta = "N",                   \
      .help = "how many of several owners have to sign")                                                               \
    X(MAKE_AMOUNT, .name = "amount", .type = CD_ARG_STR, .meta = "AMOUNT", .help = "in whole tokens: 1.5")             \
    X(MAKE_ASSET, .name = "asset", .type = CD_ARG_STR, .meta = "ID",                                                   \
      .help = "of the X-Chain; the native one when not given")                                                         \
    X(MAKE_CHAIN_FROM, .name = "source", .type = CD_ARG_STR, .choices = "P|X|C", .meta = "CHAIN",                      \
      .help = "of an import: where it comes from")                                                                     \
    X(MAKE_CHAIN_TO, .name = "destination", .type = CD_ARG_STR, .choices = "P|X|C", .meta = "CHAIN",                   \
      .help = "of an export: where it goes")                                                                           \
    X(MAKE_NODE, .name = "node-id", .type = CD_ARG_STR, .meta = "NodeID-…", .help = "a validator")                     \
    X(MAKE_BLS_KEY, .name = "bls-key", .type = CD_ARG_STR, .meta = "HEX", .help = "its BLS key")                       \
    X(MAKE_BLS_POP, .name = "bls-pop", .type = CD_ARG_STR, .meta = "HEX",                                              \
      .help = "and proof of possession, both as info.getNodeID tells them")                                            \
    X(MAKE_END, .name = "end", .type = CD_ARG_U64, .meta = "SECONDS", .help = "Unix time at which staking ends")       \
    X(MAKE_DURATION, .name = "duration", .type = CD_ARG_DURATION, .meta = "TIME",                                      \
      .help = "or how long from now: 336h")                                                                            \
    X(MAKE_START, .name = "start", .type = CD_ARG_U64, .meta = "SECONDS",                                              \
      .help = "of legacy stakers: when they begin")                                                                    \
    X(MAKE_WEIGHT, .name = "weight", .type = CD_ARG_U64, .meta = "N",                                                  \
      .help = "of a validator of a network of one's own")                                                              \
    X(MAKE_FEE_SHARE, .name = "delegation-fee", .type = CD_ARG_STR, .dflt = "2", .meta = "PERCENT",                    \
      .help = "what a validator takes of its delegators' rewards")                                                     \
    X(MAKE_NET, .name = "net-id", .type = CD_ARG_STR, .alias = "subnet-id", .meta = "ID",                              \
      .help = "a network of one's own")                                                                                \
    X(MAKE_CHAIN, .name = "chain-id", .type = CD_ARG_STR, .meta = "ID",                                                \
      .help = "of a conversion: the chain of the manager contract")                                                    \
    X(MAKE_MANAGER, .name = "manager", .type = CD_ARG_STR, .meta = "HEX", .help = "and the contract's address")        \
    X(MAKE_VALIDATOR, .name = "validator", .type = CD_ARG_LIST, .meta = "NodeID-…:WEIGHT:BALANCE:KEY:POP",             \
      .help = "of a conversion: a validator, weight, balance in tokens, BLS key and proof; may be repeated") \
    X(MAKE_VALIDATION, .name = "validation-id", .type = CD_ARG_STR, .meta = "ID", .help = "a validator of an L1")      \
    X(MAKE_MESSAGE, .name = "message-file", .type = CD_ARG_STR, .meta = "FILE", .help = "a signed Warp message")       \
    X(MAKE_FORCE, .name = "force", .type = CD_ARG_BOOL,                                                                \
      .help = "of an L1: also a step after which it would stand still")                                                \
    X(MAKE_NAME, .name = "name", .type = CD_ARG_STR, .meta = "TEXT", .help = "of a chain, or of an asset")             \
    X(MAKE_SYMBOL, .name = "symbol", .type = CD_ARG_STR, .meta = "TEXT", .help = "of an asset")                        \
    X(MAKE_DENOMINATION, .name = "denomination", .type = CD_ARG_U64, .dflt = "0", .max = 32, .meta = "N",              \
      .help = "of an asset: its decimals")                                                                             \
    X(MAKE_MINTABLE, .name = "mintable", .type = CD_ARG_BOOL, .help = "of an asset: --to may mint more of it")         \
    X(MAKE_NFT, .name = "nft-groups", .type = CD_ARG_U64, .max = 64, .meta = "N",                                      \
      .help = "of an asset: it is of NFTs, in so many groups that --to may mint in")                                   \
    X(MAKE_GROUP, .name = "group", .type = CD_ARG_U64, .dflt = "0", .max = 4294967295, .meta = "N",                    \
      .help = "of an NFT")                                                                                             \
    X(MAKE_PAYLOAD, .name = "payload", .type = CD_ARG_STR, .meta = "TEXT", .help = "what an NFT says")                 \
    X(MAKE_VM, .name = "vm-id", .type = CD_ARG_STR, .meta = "ID", .help = "of a chain: its virtual machine")           \
    X(MAKE_GENESIS, .name = "genesis-file", .type = CD_ARG_STR, .meta = "FILE", .help = "with what a chain begins")
// clang-format on

/* The ids of these options, behind those of a payer. */
enum { CD__MAKE_BEFORE = PAYER_CNT - 1, CD__MAKE_OPTIONS(CD_ARG_ID) MAKE_CNT };

/* A transaction that is being made. */
typedef struct cd__making {
    cd__world *w;
    const cd_args *args; /* NULL: nothing is read from flags */
    const cd__payer *payer;
    cd_wallet_purse purse;
    cd_wallet_fee fee;
    cd_wallet_draft draft;
} cd__making;

/* cd__make_begin fetches the outputs that the payer has on a chain ("P"), and the chain's fee. Errors: those of
 * cd__remote_ask. */
cd_err cd__make_begin(cd__making *m, cd__world *w, const char *chain, const cd__payer *payer, cd_errinfo *why) CD_CHECK;

/* cd__make_transfer pays an amount to owners, cd__make_export leaves it for them on another chain (of C: of the native
 * asset), cd__make_import takes all that another chain has left for the payer. The result is m->draft. Errors:
 * those of cd_wallet_fund. */
cd_err cd__make_transfer(cd__making *m, const cd_owners *to, const cd_hash32 *asset, u64 amount,
                         cd_errinfo *why) CD_CHECK;
cd_err cd__make_export(cd__making *m, const char *destination, const cd_owners *to, const cd_hash32 *asset, u64 amount,
                       cd_errinfo *why) CD_CHECK;
cd_err cd__make_import(cd__making *m, const char *source, const cd_owners *to, cd_errinfo *why) CD_CHECK;

/* A kind of transaction, made as the flags say. */
typedef struct cd__make_row {
    const char *name;
    const char *chain;
    cd_err (*make)(cd__making *m, cd_errinfo *why);
    const char *text;  /* what such a transaction does */
    const char *flags; /* flags that it takes */
} cd__make_row;

/* cd__make_rows gives all kinds. cd__make_find: NULL when there is none of the name. */
const cd__make_row *cd__make_rows(usize *cnt);
const cd__make_row *cd__make_find(const char *name);

/* cd__make makes a transaction of a kind. Errors: CD_EINVAL for flags, those of the node. */
cd_err cd__make(cd_wallet_draft *out, const cd__make_row *row, cd__world *w, const cd_args *a, const cd__payer *payer,
                cd_errinfo *why) CD_CHECK;

/* Parts that the rows for the P-Chain and the X-Chain share. */
cd_err cd__make_owners(cd__making *m, cd_owners *out, cd_errinfo *why) CD_CHECK;
cd_err cd__make_amount(cd__making *m, cd_hash32 *asset, u64 *amount, cd_errinfo *why) CD_CHECK;
cd_err cd__make_id(cd__making *m, cd_hash32 *out, usize option, cd_errinfo *why) CD_CHECK;
cd_err cd__make_read_owners(cd__making *m, cd_owners *out, cd_json keys, cd_json threshold, cd_json locktime,
                            cd_errinfo *why) CD_CHECK;
cd_err cd__make_net_auth(cd__making *m, cd_hash32 *net_id, cd_linear_any *auth, cd_errinfo *why) CD_CHECK;
cd_err cd__make_file(cd__making *m, cd_bytes *out, usize option, bool is_hex, cd_errinfo *why) CD_CHECK;
cd_err cd__make_read_node(cd_node_id *out, const char *text, cd_errinfo *why) CD_CHECK;
cd_err cd__make_read_fixed(u8 *out, usize n, const char *what, cd_bytes text, cd_errinfo *why) CD_CHECK;
cd_err cd__make_fund(cd__making *m, cd_p_tx_type type, void *body, u64 more, cd_errinfo *why) CD_CHECK;
cd_linear_any cd__make_owners_part(const cd__making *m, const cd_owners *o);
cd_p_base cd__make_base(const cd__making *m);

/* The rows of each chain. */
extern const cd__make_row cd__make_move[];
extern const usize cd__make_move_cnt;
extern const cd__make_row cd__make_p[];
extern const usize cd__make_p_cnt;
extern const cd__make_row cd__make_l1[];
extern const usize cd__make_l1_cnt;
extern const cd__make_row cd__make_x[];
extern const usize cd__make_x_cnt;

#endif
