/* precompile/module.h - the stateful modules a chain can switch on, and one configuration of each.
 *
 *   genesis, upgrade file ──parse──► cd_module_config ──verify──► schedule (precompile/schedule.h)
 *                                        │ common part: time, disable, roles
 *                                        └ own: what only this module knows
 *
 * A module is a row of precompile/modules.def and one file of functions. Threading: frozen.
 * [spec:precompiles-core#1] [spec:precompiles-core#10] */
#ifndef CD_PRECOMPILE_MODULE_H
#define CD_PRECOMPILE_MODULE_H

#include "types/genesis.h"

/* The rows of modules.def. */
typedef enum cd_module_id {
#define MODULE(id, symbol, key, address, legacy) id,
#include "precompile/modules.def"
    CD_MODULE_COUNT
} cd_module_id;

/* The public facts about a module. */
typedef struct cd_module_info {
    cd_module_id id;
    const char *key;   /* key of its configuration in JSON */
    cd_addr20 addr;    /* its address, unless an address book says otherwise */
    cd_addr20 legacy;  /* its address in the upstream family */
    bool has_roles;    /* it has an allow list */
    bool is_predicate; /* access-list tuples addressed to it are checked before execution */
} cd_module_info;

/* cd_module_get gives the module of an id; cd_module_by_key that of a configuration key, or NULL. */
const cd_module_info *cd_module_get(cd_module_id id);
const cd_module_info *cd_module_by_key(cd_bytes key);

/* Roles of an allow list, as stored. [spec:precompiles-core#3] */
typedef enum cd_role {
    CD_ROLE_NONE,
    CD_ROLE_ENABLED,
    CD_ROLE_ADMIN,
    CD_ROLE_MANAGER,
} cd_role;

/* A list of addresses. */
typedef struct cd_addr_list {
    const cd_addr20 *items; /* in document order */
    usize cnt;
} cd_addr_list;

/* One initial credit of the native minter. */
typedef struct cd_mint {
    cd_addr20 addr;
    cd_u256 amount; /* wei */
    bool is_null;   /* the amount is null in the document; a verified configuration has none such */
} cd_mint;

/* One configuration of a module; everything lies in the arena it was parsed into. Which member of own
 * counts follows from the module. */
typedef struct cd_module_config {
    cd_module_id module;
    cd_when at; /* blockTimestamp; not set: never */
    bool disable;
    cd_addr_list admins;
    cd_addr_list managers;
    cd_addr_list enabled;
    union {
        struct {
            const cd_mint *items; /* ascending by address */
            usize cnt;
        } minter;
        struct {
            bool has_initial;
            cd_fee_config initial;
        } fee;
        struct {
            bool has_initial;
            bool allow_fee_recipients;
            cd_addr20 address; /* zero: none */
        } reward;
        struct {
            u64 quorum; /* quorumNumerator as written; 0 = the default */
            bool require_primary_signers;
        } warp;
    } own;
} cd_module_config;

/* Quorum of Warp signatures, per cent of the weight. [spec:precompiles-core#9] */
enum { CD_WARP_QUORUM_DEFAULT = 67, CD_WARP_QUORUM_MIN = 67, CD_WARP_QUORUM_DEN = 100 };

/* What a configuration is checked against: the chain's times and limits. */
typedef struct cd_module_limits {
    cd_when durango;
    u64 warp_quorum_min;
} cd_module_limits;

/* cd_module_config_parse reads the object of a module; keys that it does not know are ignored.
 * Errors: those of codec/json.h. */
cd_err cd_module_config_parse(cd_module_config *out, cd_arena *a, cd_module_id module, cd_json v,
                              cd_errinfo *why) CD_CHECK;

/* cd_module_config_verify checks what a parsed configuration means. Errors: CD_EINVAL with the texts of
 * [spec:precompiles-core#3] to [spec:precompiles-core#9]. */
cd_err cd_module_config_verify(const cd_module_config *c, const cd_module_limits *limits, cd_errinfo *why) CD_CHECK;

/* cd_module_config_eq tells whether two configurations have the same module, time and contents. */
bool cd_module_config_eq(const cd_module_config *a, const cd_module_config *b);

/* cd_module_config_json writes the object as clients know it: roles, blockTimestamp, disable, then the
 * module's own keys (Warp: its own keys last). */
void cd_module_config_json(cd_json_w *w, const cd_module_config *c);

/* cd_fee_config_check says whether fees make sense; why gets a whole sentence without prefix.
 * Errors: CD_EINVAL. [spec:precompiles-core#7] */
cd_err cd_fee_config_check(const cd_fee_config *f, cd_errinfo *why) CD_CHECK;

/* cd_fee_config_json writes a fee configuration object, numbers as JSON numbers. */
void cd_fee_config_json(cd_json_w *w, const cd_fee_config *f);

#endif
