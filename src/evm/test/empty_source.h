/* A source of state in which nothing exists. Test code: included by one file each. */
#ifndef CD_EVM_TEST_EMPTY_SOURCE_H
#define CD_EVM_TEST_EMPTY_SOURCE_H

#include "evm/state/state.h"

static cd_err no_account(cd_state_source *src, cd_account *out, bool *found, const cd_addr20 *addr)
{
    (void)src;
    (void)out;
    (void)addr;
    *found = false;
    return CD_OK;
}

static cd_err no_storage(cd_state_source *src, cd_u256 *out, const cd_addr20 *addr, const cd_u256 *slot)
{
    (void)src;
    (void)addr;
    (void)slot;
    *out = cd_u256_zero();
    return CD_OK;
}

__attribute__((unused)) static cd_state_source nothing = {.account = no_account, .storage = no_storage};

#endif
