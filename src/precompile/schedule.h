/* precompile/schedule.h - which modules are in force when: genesis configurations, then the upgrade file's.
 *
 *   time ──────┬───────────────┬──────────────┬────────►     one era between two changes:
 *     era 0    │ era 1         │ era 2        │ era 3         its table of precompiles, its configurations
 *              └ fee manager on└ Durango      └ fee manager off
 *
 * Everything is worked out once, at the start of a chain; afterwards a query is a search among few
 * eras. A block is executed under the era of its own time, with fees and coinbase read from its parent
 * under the era of the parent's time. Threading: frozen once made. [spec:precompiles-core#10] */
#ifndef CD_PRECOMPILE_SCHEDULE_H
#define CD_PRECOMPILE_SCHEDULE_H

#include "evm/precompile/precompile.h"
#include "precompile/module.h"

typedef struct cd_schedule cd_schedule;

/* Where modules live, unless the configuration has an addressBook. */
typedef enum cd_module_addrs {
    CD_ADDRS_OWN,
    CD_ADDRS_PRIMARY, /* our own, and Warp also at its legacy address: the primary network's C-Chain */
    CD_ADDRS_LEGACY,  /* all modules at the upstream family's addresses */
} cd_module_addrs;

/* What a schedule is made from. */
typedef struct cd_schedule_cfg {
    const cd_chain_config *chain; /* upgrade times resolved, fees filled in; used by cd_schedule_new only */
    cd_json config;               /* the genesis' config object */
    cd_json upgrades;             /* the upgrade file's precompileUpgrades; may be none */
    cd_module_addrs addrs;
    bool warp_at_durango; /* Warp by default from Durango on (C profile), unless configured */
    u64 warp_quorum_min;  /* 0: CD_WARP_QUORUM_MIN; others only for upstream's test data */
    bool unverified;      /* configurations are taken as they are; only for upstream's test data */
    u32 network_id;       /* what Warp messages of this chain carry */
    cd_hash32 chain_id;
    const cd_precompile *instead; /* replaces Ethereum's precompile at its address; NULL: none */
} cd_schedule_cfg;

/* cd_schedule_new parses and checks cfg; the result owns what it keeps. Errors: those of codec/json.h,
 * CD_EINVAL with the texts of [spec:precompiles-core#10]. */
cd_err cd_schedule_new(cd_schedule **out, const cd_schedule_cfg *cfg, cd_errinfo *why) CD_CHECK;
void cd_schedule_free(cd_schedule *s); /* NULL is allowed */

/* cd_schedule_table gives the precompiles of a block of that time: Ethereum's of the block's fork and the
 * modules in force. */
const cd_precompile_table *cd_schedule_table(const cd_schedule *s, u64 time);

/* cd_schedule_active gives the configuration in force, or NULL; borrowed from s. cd_schedule_genesis gives
 * the one in the genesis document. */
const cd_module_config *cd_schedule_active(const cd_schedule *s, cd_module_id id, u64 time);
const cd_module_config *cd_schedule_genesis(const cd_schedule *s, cd_module_id id);

/* cd_schedule_addr gives the address of a module on this chain; cd_schedule_find the module in force at
 * an address: false when it is an ordinary account. */
const cd_addr20 *cd_schedule_addr(const cd_schedule *s, cd_module_id id);
bool cd_schedule_find(const cd_schedule *s, cd_module_id *out, const cd_addr20 *addr, u64 time);

/* An iterator over the changes of a block: those later than its parent and not later than itself; without
 * a parent, all up to its time. In order of addresses, then of time.
 *
 *   cd_schedule_it it = cd_schedule_changes(s, &parent->time, time);
 *   while (cd_schedule_next(&it)) { it.addr, it.config } */
typedef struct cd_schedule_it {
    const cd_schedule *s;
    const u64 *parent_time; /* NULL: none; borrowed */
    u64 time;
    usize site;
    usize entry;
    const cd_addr20 *addr;
    const cd_module_config *config;
} cd_schedule_it;
cd_schedule_it cd_schedule_changes(const cd_schedule *s, const u64 *parent_time, u64 time);
bool cd_schedule_next(cd_schedule_it *it);

/* cd_schedule_apply makes the changes of a block to the state of the block in the making, before its first
 * transaction: nonce 1, code 0x01 and the module's storage, or the account's deletion. Begins and ends
 * transactions of its own on st. */
void cd_schedule_apply(const cd_schedule *s, cd_state *st, const u64 *parent_time, u64 time, u64 number);

/* cd_schedule_compatible says whether an upgrade file may replace the one the chain has run with up to a
 * block of that time: what is already in force must be the same. Errors: CD_EINVAL with the words of
 * upstream's incompatibility error. */
cd_err cd_schedule_compatible(const cd_schedule *old, const cd_schedule *now, u64 time, cd_errinfo *why) CD_CHECK;

/* cd_schedule_json_active writes {key: configuration} of what is in force; cd_schedule_json_upgrades the
 * upgrade file's array. */
void cd_schedule_json_active(cd_json_w *w, const cd_schedule *s, u64 time);
void cd_schedule_json_upgrades(cd_json_w *w, const cd_schedule *s);

#endif
