/* evm/rules/rules.h - which rules apply: forks as rows of one table, profiles as rows of another.
 *
 * A fork row says what the byte code means (gas, opcodes, precompiles); a profile row says what the
 * chain around it does (refunds, who gets the fee, what PREVRANDAO returns). Nothing else in the
 * project asks for a fork or a profile by name. Threading: frozen. [spec:conformance#0]
 * [spec:evm-chain#4] */
#ifndef CD_EVM_RULES_H
#define CD_EVM_RULES_H

#include "base/base.h"

/* Sets of rules, oldest first. */
typedef enum cd_fork {
    CD_FRONTIER,
    CD_HOMESTEAD,
    CD_TANGERINE, /* EIP-150 */
    CD_SPURIOUS,  /* EIP-158, 160, 170 */
    CD_BYZANTIUM,
    CD_CONSTANTINOPLE,
    CD_PETERSBURG,
    CD_ISTANBUL,
    CD_BERLIN,
    CD_LONDON,
    CD_PARIS,
    CD_SHANGHAI,
    CD_CANCUN,
    CD_PRAGUE,
    CD_FORK_COUNT
} cd_fork;

/* Kinds of chains (glossary: profile). */
typedef enum cd_profile_id { CD_PROFILE_ETHEREUM, CD_PROFILE_L1, CD_PROFILE_C, CD_PROFILE_COUNT } cd_profile_id;

/* One row of evm/rules/profiles.def. */
typedef struct cd_profile {
    const char *name;
    bool pays_refund;          /* the refund counter lowers the gas used */
    bool burns_base_fee;       /* false: the coinbase gets the whole effective price */
    bool randao_is_difficulty; /* PREVRANDAO gives the header's difficulty */
    bool allows_blob_tx;       /* blocks may include transactions of type 3 */
} cd_profile;

/* cd_profile_get gives the row of an id. */
const cd_profile *cd_profile_get(cd_profile_id id);

/* cd_fork_name / cd_fork_parse translate the usual names ("Cancun", "Merge" and "Paris", "EIP158",
 * ...). Errors of cd_fork_parse: CD_ENOENT for an unknown name. */
const char *cd_fork_name(cd_fork fork);
cd_err cd_fork_parse(cd_fork *out, const char *name) CD_CHECK;

#endif
