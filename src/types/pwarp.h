/* types/pwarp.h - what the P-Chain and the managers of L1s tell each other in Warp messages: payloads of addressed
 * calls.
 *
 * Format only. validation ID of a validator that a message registers = SHA-256 of the whole payload; of the i-th that a
 * conversion brings = SHA-256 of net ID ‖ i. Threading: pure. [spec:pchain-xchain#2.4] [spec:pchain-xchain#4] */
#ifndef CD_TYPES_PWARP_H
#define CD_TYPES_PWARP_H

#include "codec/proto.h"
#include "types/ptx.h"

/* Type IDs of payloads. */
typedef enum cd_p_payload_type {
    CD_P_PAYLOAD_CONVERSION = 0,   /* a net became an L1 */
    CD_P_PAYLOAD_REGISTER = 1,     /* register a validator */
    CD_P_PAYLOAD_REGISTRATION = 2, /* a validator is registered, or will never be */
    CD_P_PAYLOAD_WEIGHT = 3,       /* set a weight; or: a weight was set */
} cd_p_payload_type;

/* A net became an L1 by the conversion with this ID. */
typedef struct cd_p_payload_conversion {
    cd_hash32 id;
} cd_p_payload_conversion;

/* Asks to register a validator; valid until the expiry. */
typedef struct cd_p_payload_register {
    cd_hash32 net_id;
    cd_bytes node_id;
    u8 key[48];
    u64 expiry;
    cd_p_l1_owner remaining_balance_owner;
    cd_p_l1_owner disable_owner;
    u64 weight;
} cd_p_payload_register;

/* A validator is registered, or will never be. */
typedef struct cd_p_payload_registration {
    cd_hash32 validation_id;
    bool is_registered;
} cd_p_payload_registration;

/* The weight of a validator. */
typedef struct cd_p_payload_weight {
    cd_hash32 validation_id;
    u64 nonce;
    u64 weight;
} cd_p_payload_weight;

/* A payload: one of the above by its type. */
typedef struct cd_p_payload {
    cd_linear_any body;
} cd_p_payload;

/* A validator in the data that is hashed to the ID of a conversion. */
typedef struct cd_p_conversion_validator {
    cd_bytes node_id;
    u8 key[48];
    u64 weight;
} cd_p_conversion_validator;

/* The data that is hashed to the ID of a conversion. */
typedef struct cd_p_conversion_data {
    cd_hash32 net_id;
    cd_hash32 manager_chain;
    cd_bytes manager_address;
    cd_linear_list validators; /* cd_p_conversion_validator */
} cd_p_conversion_data;

/* The tables of cd_p_payload and cd_p_conversion_data. */
extern const cd_linear_type cd_p_payload_table;
extern const cd_linear_type cd_p_conversion_data_table;

/* --- why a validator is registered no more, or never was: what goes with a claim that it is not --- */

/* The members of the oneof below. */
typedef enum cd_p_preimage {
    CD_P_PREIMAGE_NONE,
    CD_P_PREIMAGE_INDEX = 1,    /* it came with the conversion of a net, as number index */
    CD_P_PREIMAGE_REGISTER = 2, /* it was to be registered by a message */
} cd_p_preimage;

/* A validator of a conversion. */
typedef struct cd_p_net_index {
    cd_bytes net_id; /* 32 bytes */
    u32 index;
} cd_p_net_index;

/* L1ValidatorRegistrationJustification: what the validation ID was made of. */
typedef struct cd_p_justification {
    u32 preimage;          /* cd_p_preimage */
    cd_p_net_index *index; /* by preimage */
    cd_bytes message;      /* a payload of type REGISTER */
} cd_p_justification;

/* The table of cd_p_justification, for cd_proto_parse and cd_proto_put. */
extern const cd_proto_type cd_p_justification_table;

/* cd_p_payload_of makes a payload of a struct of that type, which is borrowed. */
cd_p_payload cd_p_payload_of(cd_p_payload_type type, void *v);

/* cd_p_conversion_id hashes what a transaction converts; cd_p_validation_id gives the ID of its idx-th validator. */
void cd_p_conversion_id(cd_hash32 *out, const cd_p_convert_net_to_l1 *tx);
void cd_p_validation_id(cd_hash32 *out, const cd_hash32 *net_id, u32 idx);

#endif
