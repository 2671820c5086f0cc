/* chains/platform/service/service_priv.h - what the methods share. */
#ifndef CD_PLATFORM_SERVICE_PRIV_H
#define CD_PLATFORM_SERVICE_PRIV_H

#include "base/os/rng.h"
#include "base/table/lru.h"
#include "base/thread/thread.h"
#include "chains/platform/service/service.h"
#include "chains/platform/state/stakers.h"
#include "codec/api_json.h"
#include "rpc/named.h"
#include "types/ptx.h"

/* Limits of a request and of its answer. */
enum {
    CD__ADDRS_MAX = 1024,         /* addresses of a request */
    CD__STAKE_ADDRS_MAX = 256,    /* of getStake */
    CD__UTXOS_MAX = 1024,         /* of a page */
    CD__BALANCE_MAX = 1 << 16,    /* UTXOs that a balance adds up */
    CD__ASSETS_MAX = 1 << 10,     /* assets of a balance */
    CD__STAKED_MAX = 1 << 16,     /* outputs of getStake */
    CD__NETS_MAX = 1 << 14,       /* nets of a list */
    CD__CHAINS_MAX = 1 << 14,     /* chains of a list */
    CD__L1_MAX = 20000,           /* validators of an L1 in a list */
    CD__DELEGATORS_MAX = 1 << 14, /* delegators of a validator in a list */
};

struct cd_platform_service {
    cd_platform_cfg cfg;
    cd_rpc_table *table;
    cd_rpc_service service;
    cd_mutex lock; /* of rng, cards and roll */
    cd_rng rng;
    cd_lru *cards;         /* transaction ID ──► cd__card */
    struct cd__roll *roll; /* NULL: none yet */
    char net_id[16];       /* "netID" or "subnetID" */
    char nets[16];         /* "nets" or "subnets" */
    char transform[32];
};

/* What never changes of a validator's element, as text: members up to the potential reward, the fee, the signer. It
 * is written once, since writing IDs, keys and addresses is most of the work of a long list. */
enum { CD__CARD_PARTS = 3, CD__CARDS_BYTES = 16 << 20 };

/* A text of that kind. */
typedef struct cd__card {
    u32 n[CD__CARD_PARTS]; /* bytes of each part */
    u8 text[];
} cd__card;

/* The validators of the primary network behind a block, for all requests until the next one. More than CD__ROLL_MAX are
 * walked each time. */
enum { CD__ROLL_MAX = 1 << 16 };

/* A validator, with what others brought it. */
typedef struct cd__roll_row {
    cd_p_staker staker;
    cd_p_delegated delegated;
    u64 accrued;
} cd__roll_row;

/* That list; uses are counted under the service's lock. */
typedef struct cd__roll {
    cd_hash32 block;
    u32 refs;
    usize cnt;
    cd__roll_row v[];
} cd__roll;

/* What the calls of a request share. */
typedef struct cd__view {
    cd_kv *kv; /* frozen; NULL: the store did not give one */
} cd__view;

#define X CD_RPC_NAMED_DECL
#include "chains/platform/service/service.def"
#undef X

/* cd__service_of gives the service, cd__state_of the state that a call reads. Errors: the call's. */
const cd_platform_service *cd__service_of(const cd_rpc_call *call);
cd_err cd__state_of(cd_pstate *out, cd_rpc_call *call) CD_CHECK;

/* cd__state_renew lets the rest of the request read the state as it is now. */
void cd__state_renew(cd_rpc_call *call);

/* cd__roll_get gives the roll behind the last accepted block of s, to be ended with cd__roll_end. Errors: CD_EFULL for
 * more than CD__ROLL_MAX validators, the state's. */
cd_err cd__roll_get(cd__roll **out, cd_platform_service *service, const cd_pstate *s) CD_CHECK;
void cd__roll_end(cd_platform_service *service, cd__roll *roll); /* NULL is allowed */

/* cd__fail is cd_rpc_fail with the one code of the node's services. */
#define cd__fail(call, ...) cd_rpc_fail((call), CD_RPC_SERVER, __VA_ARGS__)

/* cd__words gives the original's text of an error: "not found". */
const char *cd__words(cd_err e);

/* cd__id_text, cd__addr_text give IDs and addresses of the P-Chain as text in the call's arena. */
const char *cd__id_text(const cd_rpc_call *call, const cd_hash32 *id);
const char *cd__addr_text(const cd_rpc_call *call, const cd_addr20 *addr);

/* cd__number reads a number of the chain. Errors: the call's. */
cd_err cd__number(cd_rpc_call *call, u64 *out, const cd_pstate *s, cd_pstate_num which) CD_CHECK;

/* cd__chain_find finds the ID of an alias or of an ID as text. Errors: CD_ENOENT and the like with the original's
 * words. */
cd_err cd__chain_find(cd_hash32 *out, const cd_platform_service *s, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd__addr_read reads an address of the P-Chain; cd__addrs_read those of a list. Errors: the call's. */
cd_err cd__addr_read(cd_addr20 *out, cd_rpc_call *call, cd_bytes text) CD_CHECK;
cd_err cd__addrs_read(cd_addr20 **out, cd_rpc_call *call, const cd_rpc_strings *texts) CD_CHECK;

/* cd__utxos_all gives what addresses own here, or what `source` (zero: none) left here for them; more than
 * CD__BALANCE_MAX of them are not looked at. addrs is sorted in place. Errors: the call's. */
cd_err cd__utxos_all(cd_utxo **out, usize *cnt, cd_rpc_call *call, cd_addr20 *addrs, usize addr_cnt,
                     const cd_hash32 *source) CD_CHECK;

/* cd__put_owner writes {locktime, threshold, addresses} under key; cd__put_addrs a list of addresses. */
void cd__put_owner(const cd_rpc_call *call, const char *key, u64 locktime, u32 threshold, const cd_linear_list *addrs);
void cd__put_addrs(const cd_rpc_call *call, const char *key, const cd_linear_list *addrs);

/* cd__put_named writes JSON whose names are those of product networks in the names of the family. */
void cd__put_named(const cd_rpc_call *call, const char *key, cd_bytes json);

/* cd__place_of gives where addresses are. */
cd_linear_place cd__place_of(const cd_platform_service *s);

#endif
