/* Requests of peers to sign what the P-Chain knows of L1s: message and justification are a SignatureRequest. Whatever
 * they say, the answer is a known code with words, and nothing but what stands in the state is signed. */
#include "chains/platform/claims.h"
#include "chains/platform/state/l1.h"
#include "chains/platform/state/nets.h"
#include "p2p/sdk.h"
#include "types/pwarp.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static const cd_hash32 net = {.b = {7}};

/* One L1 with one validator, made once. */
static const cd_pstate *state(void)
{
    static cd_pstate s;
    if (s.kv == NULL) {
        const cd_p_conversion c = {.id = {.b = {5}}, .chain_id = {.b = {6}}};
        cd_p_l1 l = {.net_id = net, .node_id = {{1}}, .weight = 50, .min_nonce = 3};
        s.kv = cd_kv_mem_open();
        cd_p_validation_id(&l.validation_id, &net, 0);
        CD_ASSERT(cd_pstate_num_set(&s, CD_PSTATE_TIME, 1000) == CD_OK);
        CD_ASSERT(cd_pstate_conversion_set(&s, &net, &c) == CD_OK && cd_pstate_l1_put(&s, &l) == CD_OK);
    }
    return &s;
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    cd_arena a = {0};
    cd_errinfo why = {0};
    cd_warp_unsigned m;
    cd_p2p_sig_request req = {.message = {.n = 0}};
    if (cd_proto_parse(&req, &cd_p2p_sig_request_table, &a, cd_bytes_of(data, size), NULL) == CD_OK &&
        cd_warp_unsigned_dec(&m, req.message) == CD_OK) {
        cd_p_claim said = cd_p_claim_judge(state(), &m, req.justification, &why);
        CD_ASSERT(said >= CD_P_CLAIM_TRUE && said <= CD_P_CLAIM_OTHER_WEIGHT);
        CD_ASSERT(said == CD_P_CLAIM_TRUE || why.msg[0] != '\0');
    }
    cd_arena_fini(&a);
    return 0;
}
