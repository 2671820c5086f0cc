/* chains/evmchain/core/config/check.h - reads genesis, VM configuration and upgrade file the way an operator wants
 * them read: every finding with its line, its key, and what to do; a key in the wrong file or object is told where
 * it belongs.
 *
 *   text ──► syntax ──► keys against the table of places ──► the program's own parsers and checks
 *
 * Findings are for people; starting a chain does not ask here. Threading: pure. [spec:evm-chain#7]
 * [spec:evm-chain#11] */
#ifndef CD_CHAINS_EVMCHAIN_CONFIG_CHECK_H
#define CD_CHAINS_EVMCHAIN_CONFIG_CHECK_H

#include "base/mem/arena.h"
#include "chains/evmchain/core/chain.h"

/* How bad a finding is. */
typedef enum cd_finding_level {
    CD_FINDING_ERROR,   /* the chain does not start with it */
    CD_FINDING_WARNING, /* it starts, but hardly as meant */
    CD_FINDING_NOTE,
} cd_finding_level;

/* What the check of a document found in one place. */
typedef struct cd_finding {
    cd_finding_level level;
    u64 line; /* from 1; 0 = the whole document */
    u64 column;
    const char *key; /* path: "config.feeConfig.gasLimit"; "" = the whole document */
    const char *message;
    const char *suggestion; /* what to do, or "" */
} cd_finding;

/* At most this many are collected. */
enum { CD_FINDINGS_MAX = 64 };

/* All zero is an empty list; texts lie in the arena that the check was given. */
typedef struct cd_findings {
    cd_finding items[CD_FINDINGS_MAX];
    usize cnt;
    usize errors; /* those of level ERROR, also beyond the maximum */
} cd_findings;

/* What a good genesis gives. */
typedef struct cd_genesis_facts {
    bool is_good;
    cd_hash32 hash;
    cd_hash32 state_root;
    u64 chain_id;
    usize accounts;
} cd_genesis_facts;

/* cd_genesis_check examines a genesis document. net is the configuration that a chain would be opened with; its kv
 * and genesis are not looked at. facts may be NULL. */
void cd_genesis_check(cd_findings *out, cd_genesis_facts *facts, cd_arena *a, cd_bytes text, const cd_chain_cfg *net);

/* cd_vm_config_check examines a VM configuration, cd_upgrades_check an upgrade file. */
void cd_vm_config_check(cd_findings *out, cd_arena *a, cd_bytes text);
void cd_upgrades_check(cd_findings *out, cd_arena *a, cd_bytes text);

/* cd_json_locate finds line and column (from 1) of the key or element that cd_json_path would call path; false when
 * it is not there. text must be valid JSON. */
bool cd_json_locate(u64 *line, u64 *column, cd_bytes text, const char *path);

#endif
