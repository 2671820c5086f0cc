#include "l1/l1_words.h"

#include "l1/l1_plan.h"

cd_err cd__l1_words_net(cd__l1_job *j, cd_hash32 *out, const char *const *words, usize cnt, usize wanted,
                        const char *usage, cd_errinfo *why)
{
    return cnt >= wanted ? cd__l1_net(j, out, words[0], why)
                         : cd_fail(why, CD_EINVAL, "that command goes: candela-cli l1 %s", usage);
}

cd_err cd__l1_words_manager(cd__l1_job *j, cd__l1_manager *m, const cd_hash32 *net, cd_errinfo *why)
{
    bool is_ready;
    CD_TRY(cd__l1_manager_open(m, j, net, why));
    CD_TRY(cd__l1_manager_ready(m, &is_ready, why));
    return is_ready ? CD_OK
                    : cd_fail(why, CD_EINVAL,
                              "the manager of this L1 does not know its first validators yet: "
                              "candela-cli l1 create NAME goes on with that");
}

cd_err cd__l1_words_find(cd_hash32 *out, const cd_l1_facts *f, const char *word, cd_errinfo *why)
{
    cd_node_id node;
    bool is_node = cd_node_id_parse(&node, cd_bytes_str(word), NULL) == CD_OK;
    if (!is_node && cd_id_parse(out, cd_bytes_str(word), NULL) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "NodeID-… or a validation's ID, got \"%.80s\"", word);
    }
    for (usize i = 0; is_node && i < f->cnt; i++) {
        if (memcmp(&f->v[i].node_id, &node, sizeof node) == 0) {
            *out = f->v[i].validation_id;
            return CD_OK;
        }
    }
    return is_node ? CD_ENOENT : CD_OK;
}
