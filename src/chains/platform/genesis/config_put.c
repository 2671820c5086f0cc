/* A config as the JSON of a genesis file, as cd_pgenesis_config_parse reads it. */
#include "chains/platform/genesis/config.h"
#include "codec/json.h"

static void put_addr(cd_json_w *w, const cd_addr20 *addr, const cd_network *net)
{
    cd_buf text = {0};
    cd_chain_addr_put(&text, "X", net->prefix, addr);
    cd_json_w_str(w, cd_buf_bytes(&text));
    cd_buf_fini(&text);
}

static void put_allocation(cd_json_w *w, const cd_pgenesis_allocation *a, const cd_network *net)
{
    cd_json_w_obj(w);
    cd_json_w_key(w, "ethAddr");
    cd_json_w_hex(w, cd_bytes_of(a->eth_addr.b, sizeof a->eth_addr.b));
    cd_json_w_key(w, net->family->upstream_modules ? "avaxAddr" : "luxAddr");
    put_addr(w, &a->addr, net);
    cd_json_put_u64(w, "initialAmount", a->initial_amount);
    cd_json_w_key(w, "unlockSchedule");
    cd_json_w_arr(w);
    for (usize i = 0; i < a->unlock_cnt; i++) {
        cd_json_w_obj(w);
        cd_json_put_u64(w, "amount", a->unlock[i].amount);
        if (a->unlock[i].locktime != 0) {
            cd_json_put_u64(w, "locktime", a->unlock[i].locktime);
        }
        cd_json_w_obj_end(w);
    }
    cd_json_w_arr_end(w);
    cd_json_w_obj_end(w);
}

static void put_staker(cd_json_w *w, const cd_pgenesis_staker *s, const cd_network *net)
{
    cd_buf node = {0};
    cd_node_id_put(&node, &s->node_id);
    cd_json_w_obj(w);
    cd_json_put_cstr(w, "nodeID", cd_buf_cstr(&node));
    cd_json_w_key(w, "rewardAddress");
    put_addr(w, &s->reward_addr, net);
    cd_json_put_u64(w, "delegationFee", s->delegation_fee);
    if (s->has_signer) {
        cd_json_w_key(w, "signer");
        cd_json_w_obj(w);
        cd_json_w_key(w, "publicKey");
        cd_json_w_hex(w, cd_bytes_of(s->key, sizeof s->key));
        cd_json_w_key(w, "proofOfPossession");
        cd_json_w_hex(w, cd_bytes_of(s->proof, sizeof s->proof));
        cd_json_w_obj_end(w);
    }
    cd_json_w_obj_end(w);
    cd_buf_fini(&node);
}

void cd_pgenesis_config_put(cd_buf *out, const cd_pgenesis_config *c, const cd_network *net)
{
    cd_json_w w = {.out = out};
    cd_json_w_obj(&w);
    cd_json_put_u64(&w, "networkID", c->network_id);
    cd_json_w_key(&w, "allocations");
    cd_json_w_arr(&w);
    for (usize i = 0; i < c->allocation_cnt; i++) {
        put_allocation(&w, &c->allocations[i], net);
    }
    cd_json_w_arr_end(&w);
    cd_json_put_u64(&w, "startTime", c->start_time);
    cd_json_put_u64(&w, "initialStakeDuration", c->stake_duration_s);
    cd_json_put_u64(&w, "initialStakeDurationOffset", c->stake_offset_s);
    cd_json_w_key(&w, "initialStakedFunds");
    cd_json_w_arr(&w);
    for (usize i = 0; i < c->staked_cnt; i++) {
        put_addr(&w, &c->staked[i], net);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_key(&w, "initialStakers");
    cd_json_w_arr(&w);
    for (usize i = 0; i < c->staker_cnt; i++) {
        put_staker(&w, &c->stakers[i], net);
    }
    cd_json_w_arr_end(&w);
    cd_json_w_key(&w, "cChainGenesis");
    cd_json_w_str(&w, c->c_genesis);
    cd_json_w_key(&w, "message");
    cd_json_w_str(&w, c->message);
    cd_json_w_obj_end(&w);
}
