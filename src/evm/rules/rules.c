#include "evm/rules/rules.h"

#include "evm/rules/gas.h"

#include <string.h>

static const cd_profile profiles[CD_PROFILE_COUNT] = {
#define X(id, title, refund, burn, randao, blob)                                                                       \
    [id] = {.name = (title),                                                                                           \
            .pays_refund = (refund),                                                                                   \
            .burns_base_fee = (burn),                                                                                  \
            .randao_is_difficulty = (randao),                                                                          \
            .allows_blob_tx = (blob)},
#include "evm/rules/profiles.def"
#undef X
};

static const struct {
    const char *name;
    const char *aliases;
} forks[CD_FORK_COUNT] = {
#define X(id, title, others) [id] = {.name = (title), .aliases = (others)},
#include "evm/rules/forks.def"
#undef X
};

const cd_profile *cd_profile_get(cd_profile_id id)
{
    CD_ASSERT(id < CD_PROFILE_COUNT);
    return &profiles[id];
}

const char *cd_fork_name(cd_fork fork)
{
    CD_ASSERT(fork < CD_FORK_COUNT);
    return forks[fork].name;
}

/* has_word tells whether name is one of the words of list, which spaces separate. */
static bool has_word(const char *list, const char *name)
{
    usize n = strlen(name);
    bool is_word = n != 0 && strchr(name, ' ') == NULL;
    for (const char *p = list; is_word && (p = strstr(p, name)) != NULL; p += n) {
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0')) {
            return true;
        }
    }
    return false;
}

cd_err cd_fork_parse(cd_fork *out, const char *name)
{
    for (cd_fork f = 0; f < CD_FORK_COUNT; f++) {
        if (strcmp(forks[f].name, name) == 0 || has_word(forks[f].aliases, name)) {
            *out = f;
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

cd_gas cd_gas_of(cd_fork fork)
{
    return (cd_gas){
#define G2(field, a, f1, b)               .field = fork < (f1) ? (a) : (b),
#define G3(field, a, f1, b, f2, c)        .field = fork < (f1) ? (a) : fork < (f2) ? (b) : (c),
#define G4(field, a, f1, b, f2, c, f3, d) .field = fork < (f1) ? (a) : fork < (f2) ? (b) : fork < (f3) ? (c) : (d),
#include "evm/rules/gas.def"
#undef G2
#undef G3
#undef G4
        .sstore_net = fork == CD_CONSTANTINOPLE || fork >= CD_ISTANBUL,
    };
}
