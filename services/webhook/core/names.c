#include "services/webhook/core/names.h"

static const struct {
    const char *name;
    cd_wh_face face;
} types[CD_WH_TYPES_CNT] = {
    [CD_WH_A_TRANSFER] = {"transfer", CD_WH_A},
    [CD_WH_A_ERC20] = {"erc20_transfer", CD_WH_A},
    [CD_WH_A_ERC721] = {"erc721_transfer", CD_WH_A},
    [CD_WH_A_ERC1155] = {"erc1155_transfer", CD_WH_A},
    [CD_WH_A_CONTRACT] = {"contract_event", CD_WH_A},
    [CD_WH_A_BLOCK] = {"new_block", CD_WH_A},
    [CD_WH_B_ADDRESS] = {"address_activity", CD_WH_B},
    [CD_WH_B_TOKEN] = {"token_transfer", CD_WH_B},
    [CD_WH_B_NFT] = {"nft_transfer", CD_WH_B},
    [CD_WH_B_MINED] = {"mined_transaction", CD_WH_B},
    [CD_WH_B_LOG] = {"log", CD_WH_B},
    [CD_WH_C_ADDRESS] = {"ADDRESS_ACTIVITY", CD_WH_C},
    [CD_WH_C_MINED] = {"MINED_TRANSACTION", CD_WH_C},
    [CD_WH_C_NFT] = {"NFT_ACTIVITY", CD_WH_C},
    [CD_WH_C_TOKEN] = {"TOKEN_TRANSFER", CD_WH_C},
    [CD_WH_C_INTERNAL] = {"INTERNAL_TRANSFER", CD_WH_C},
    [CD_WH_C_BLOCK] = {"NEW_BLOCK", CD_WH_C},
    [CD_WH_C_PENDING] = {"PENDING_TRANSACTION", CD_WH_C},
};

static const char *const notices[CD_WH_NOTICE_END - CD_WH_NOTICE_FIRST] = {
    "webhook.paused", "webhook.disabled", "webhook.resumed", "delivery.failed",
    "quota.warning",  "quota.exceeded",   "l1.health",
};

static const char *const states[CD_WH_STATES_CNT] = {
    [CD_WH_PENDING] = "pending",     [CD_WH_DELIVERING] = "delivering",
    [CD_WH_DELIVERED] = "delivered", [CD_WH_RETRYING] = "retrying",
    [CD_WH_FAILED] = "failed",       [CD_WH_HELD] = "held",
    [CD_WH_SKIPPED] = "skipped",     [CD_WH_QUOTA_EXCEEDED] = "quota_exceeded",
    [CD_WH_CANCELLED] = "cancelled",
};

const char *cd_wh_type_name(cd_wh_type t)
{
    u32 bit = t;
    if (bit >= CD_WH_NOTICE_FIRST) {
        CD_ASSERT(bit < CD_WH_NOTICE_END);
        return notices[bit - CD_WH_NOTICE_FIRST];
    }
    CD_ASSERT(t < CD_WH_TYPES_CNT);
    return types[t].name;
}

cd_wh_face cd_wh_type_face(cd_wh_type t)
{
    CD_ASSERT(t < CD_WH_TYPES_CNT);
    return types[t].face;
}

cd_err cd_wh_type_of(cd_wh_type *out, cd_wh_face face, cd_bytes name)
{
    for (u32 t = 0; t < CD_WH_TYPES_CNT; t++) {
        if (types[t].face == face && cd_bytes_eq(name, cd_bytes_str(types[t].name))) {
            *out = (cd_wh_type)t;
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

const char *cd_wh_state_name(cd_wh_state s)
{
    CD_ASSERT(s < CD_WH_STATES_CNT);
    return states[s];
}

cd_err cd_wh_state_of(cd_wh_state *out, cd_bytes name)
{
    for (u32 s = 0; s < CD_WH_STATES_CNT; s++) {
        if (cd_bytes_eq(name, cd_bytes_str(states[s]))) {
            *out = (cd_wh_state)s;
            return CD_OK;
        }
    }
    return CD_ENOENT;
}

const char *cd_wh_status_name(cd_wh_face face, cd_wh_status s)
{
    static const char *const names[][3] = {
        [CD_WH_A] = {"enabled", "disabled", "disabled"},
        [CD_WH_B] = {"active", "paused", "disabled"},
        [CD_WH_C] = {"active", "inactive", "inactive"},
    };
    return names[face][s];
}

const char *cd_wh_face_name(cd_wh_face face)
{
    static const char *const names[] = {[CD_WH_A] = "a", [CD_WH_B] = "b", [CD_WH_C] = "c"};
    return names[face];
}

cd_err cd_wh_face_of(cd_wh_face *out, cd_bytes name)
{
    u8 c = name.n == 1 ? (u8)(name.p[0] | 0x20) : 0;
    if (c < 'a' || c > 'c') {
        return CD_ENOENT;
    }
    *out = (cd_wh_face)(c - 'a');
    return CD_OK;
}
