#include "types/network.h"

#include "base/num_text.h"

static const cd_network rows[] = {
#define X(id_, name_, prefix_, chain_, port_, decimals_, is_dev_)                                  \
    {                                                                                              \
        .id = (id_),                                                                               \
        .name = (name_),                                                                           \
        .prefix = (prefix_),                                                                       \
        .evm_chain_id = (chain_),                                                                  \
        .http_port = (port_),                                                                      \
        .decimals = (decimals_),                                                                   \
        .is_dev = (is_dev_),                                                                       \
    },
#include "types/network.def"
#undef X
};

const cd_network *cd_network_find(const char *name)
{
    u64 id;
    bool is_number = cd_u64_parse(&id, cd_bytes_str(name)) == CD_OK;
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        if (is_number ? rows[i].id == id : strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}
