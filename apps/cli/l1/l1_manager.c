#include "l1/l1_manager.h"

#include "relay/form.h"

/* Gas that the functions use besides what a signed message takes: upper bounds. */
enum { GAS_COMPLETE = 400000, GAS_INITIALIZE = 300000, GAS_VALIDATOR = 220000 };

/* Where managers that do not say so have the Warp precompile. */
static const cd_addr20 upstream_warp = {{0x02, [19] = 0x05}};

static cd_abi_val addr_val(const cd_addr20 *a)
{
    return (cd_abi_val){.num = cd_u256_from_addr(a)};
}

static cd_abi_val hash_val(const cd_hash32 *h)
{
    return (cd_abi_val){.bytes = cd_bytes_of(h->b, sizeof h->b)};
}

static cd_abi_val num_val(u64 n)
{
    return (cd_abi_val){.num = cd_u256_from_u64(n)};
}

/* --- what it is --- */

/* Asks for the one value of a function without arguments; *is: it has such a function. */
static cd_err read_one(cd__l1_manager *m, cd_u256 *out, bool *is, const char *signature, cd_errinfo *why)
{
    cd_bytes data;
    cd_abi_val v;
    cd_errinfo said = {0};
    CD_TRY(cd__evm_data(&data, m->evm.mem, signature, NULL, 0, why));
    cd_err e = cd__evm_read(&m->evm, &v, &m->address, data, "(uint256)", &said);
    *is = e == CD_OK;
    if (e == CD_OK) {
        *out = v.items[0].num;
    } else if (e != CD_EACCES && e != CD_EFORMAT) { /* reverted, or no contract */
        *why = said;
        return e;
    }
    return CD_OK;
}

static cd_err read_kind(cd__l1_manager *m, const cd__l1_job *j, cd_errinfo *why)
{
    cd_u256 v;
    bool is;
    CD_TRY(read_one(m, &v, &is, "warp()", why));
    m->warp = is ? cd_u256_to_addr(&v) : upstream_warp;
    CD_TRY(read_one(m, &m->weight_unit, &m->is_pos, "weightFactor()", why));
    CD_TRY(read_one(m, &v, &is, m->is_pos ? "founder()" : "owner()", why));
    if (!is) {
        return cd_fail(why, CD_EINVAL, "%s on chain %s is no manager that this program knows",
                       cd__hex_text(j->mem, cd_bytes_of(m->address.b, sizeof m->address.b)),
                       cd__l1_id_text(j, &m->chain));
    }
    m->owner = cd_u256_to_addr(&v);
    return CD_OK;
}

cd_err cd__l1_manager_open(cd__l1_manager *out, cd__l1_job *j, const cd_hash32 *net, cd_errinfo *why)
{
    cd_json v;
    cd_bytes text;
    *out = (cd__l1_manager){.net = *net};
    const char *params = cd_arena_fmt(j->mem, "{\"subnetID\":\"%s\"}", cd__l1_id_text(j, net));
    CD_TRY(cd__l1_ask(j, &v, "platform.getSubnet", params, why));
    if (!cd_json_has(cd_json_get(v, "managerAddress"))) {
        return cd_fail(why, CD_EINVAL, "%s is no L1", cd__l1_id_text(j, net));
    }
    CD_TRY(cd_json_str(&text, cd_json_get(v, "managerChainID"), why));
    CD_TRY(cd_id_parse(&out->chain, text, why));
    if (cd_json_fixed(out->address.b, sizeof out->address.b, cd_json_get(v, "managerAddress"), NULL) != CD_OK) {
        return cd_fail(why, CD_EINVAL, "the manager of %s is no contract: its validators stay as they are",
                       cd__l1_id_text(j, net));
    }
    const char *path = cd_arena_fmt(j->mem, "/ext/bc/%s/rpc", cd__l1_id_text(j, &out->chain));
    CD_TRY(cd__evm_open(&out->evm, j->chain, j->mem, path, why));
    return read_kind(out, j, why);
}

cd_err cd__l1_manager_ready(cd__l1_manager *m, bool *out, cd_errinfo *why)
{
    cd_u256 v = {0};
    bool is;
    CD_TRY(read_one(m, &v, &is, "isValidatorSetInitialized()", why));
    *out = is && !cd_u256_is_zero(&v);
    return CD_OK;
}

/* --- what it knows --- */

cd_err cd__l1_manager_get(cd__l1_manager *m, cd__l1_validation *out, const cd_hash32 *id, cd_errinfo *why)
{
    cd_bytes data;
    cd_abi_val v;
    const cd_abi_val args[] = {hash_val(id)};
    CD_TRY(cd__evm_data(&data, m->evm.mem, "getValidator(bytes32)", args, 1, why));
    CD_TRY(
        cd__evm_read(&m->evm, &v, &m->address, data, "((uint8,bytes,uint64,uint64,uint64,uint64,uint64,uint64))", why));
    const cd_abi_val *f = v.items[0].items;
    *out = (cd__l1_validation){.id = *id,
                               .status = (cd__l1_status)cd_u256_to_u64_sat(&f[0].num),
                               .nonce = cd_u256_to_u64_sat(&f[3].num),
                               .received = cd_u256_to_u64_sat(&f[4].num),
                               .weight = cd_u256_to_u64_sat(&f[5].num)};
    return CD_OK;
}

cd_err cd__l1_manager_find(cd__l1_manager *m, cd__l1_validation *out, const cd_node_id *node, cd_errinfo *why)
{
    cd_bytes data;
    cd_abi_val v;
    cd_hash32 id;
    const cd_abi_val args[] = {{.bytes = cd_bytes_of(node->b, sizeof node->b)}};
    CD_TRY(cd__evm_data(&data, m->evm.mem, "getNodeValidationID(bytes)", args, 1, why));
    CD_TRY(cd__evm_read(&m->evm, &v, &m->address, data, "(bytes32)", why));
    memcpy(id.b, v.items[0].bytes.p, sizeof id.b);
    *out = (cd__l1_validation){0};
    return cd_hash32_is_zero(&id) ? CD_OK : cd__l1_manager_get(m, out, &id, why);
}

cd_err cd__l1_manager_payload(cd__l1_manager *m, cd_bytes *out, const cd_hash32 *id, cd_errinfo *why)
{
    cd_bytes data;
    cd_abi_val v;
    const cd_abi_val args[] = {hash_val(id)};
    CD_TRY(cd__evm_data(&data, m->evm.mem, "registrationMessage(bytes32)", args, 1, why));
    CD_TRY(cd__evm_read(&m->evm, &v, &m->address, data, "(bytes)", why));
    *out = v.items[0].bytes;
    return CD_OK;
}

/* --- what changes it --- */

/* What a manager refuses, by its name instead of four bytes. */
static cd_err name_refusal(const cd__l1_job *j, cd_err e, cd_errinfo *why)
{
    static const char *const refusals[] = {
        "NotInitialized()",
        "BadNodeID(bytes)",
        "BadKey(uint256)",
        "BadOwner()",
        "BadWeight(uint64)",
        "NodeIsThere(bytes,bytes32)",
        "WrongStatus(bytes32,uint8)",
        "LastValidator(bytes32)",
        "TooMuchChurn(uint64,uint64)",
        "OwnableUnauthorizedAccount(address)",
        "TooLittleStake(uint256,uint256)",
        "NotAMultiple(uint256,uint256)",
        "NotTheStaker(address)",
        "TooEarly(uint256)",
    };
    for (usize i = 0; e == CD_EACCES && i < CD_COUNT(refusals); i++) {
        u8 selector[4];
        cd_abi_selector(selector, refusals[i]);
        if (strstr(why->msg, cd__hex_text(j->mem, cd_bytes_of(selector, sizeof selector))) != NULL) {
            return cd_fail(why, e, "the manager refuses: %.*s", (int)strcspn(refusals[i], "("), refusals[i]);
        }
    }
    return e;
}

static cd_err run(cd__l1_manager *m, cd__l1_job *j, cd__evm_tx *tx, const char *what, bool *is_good, cd_errinfo *why)
{
    cd_hash32 hash;
    tx->from = j->payer.eth[0];
    tx->to = m->address;
    CD_TRY(name_refusal(j, cd__evm_issue(&m->evm, &hash, tx, j->payer.secrets[0].p, why), why));
    cd__l1_tell(j, "%s on the L1: %s", what, cd__hex_text(j->mem, cd_bytes_of(hash.b, sizeof hash.b)));
    CD_TRY(cd__evm_await(&m->evm, is_good, NULL, &hash, why));
    return *is_good ? CD_OK
                    : cd_fail(why, CD_EACCES, "%s was reverted: %s", what,
                              cd__hex_text(j->mem, cd_bytes_of(hash.b, sizeof hash.b)));
}

/* Brings a signed message. A block may refer to the P-Chain as it was before those who signed were its validators:
 * what is reverted is brought again. */
static cd_err bring(cd__l1_manager *m, cd__l1_job *j, cd_bytes message, u64 gas, cd_bytes data, const char *what,
                    cd_errinfo *why)
{
    enum { TRIES = 5, PAUSE_MS = 8000 };
    cd__evm_tx tx = {
        .predicate = message, .predicate_to = m->warp, .gas = cd_relay_form_gas(message, gas), .data = data};
    bool is_good = false;
    cd_err e = CD_OK;
    for (int i = 0; i < TRIES && !is_good; i++) {
        if (i > 0) {
            cd__remote_pause(j->chain, PAUSE_MS);
        }
        is_good = true; /* unless it is reverted */
        e = run(m, j, &tx, what, &is_good, why);
    }
    return e;
}

cd_err cd__l1_manager_initialize(cd__l1_manager *m, cd__l1_job *j, const cd_p_conversion_data *d, cd_bytes message,
                                 cd_errinfo *why)
{
    enum { FIELDS = 3 };
    const cd_p_conversion_validator *v = d->validators.v;
    const u32 cnt = d->validators.cnt;
    cd_abi_val *rows = cd_arena_array(j->mem, cd_abi_val, cnt + 1);
    for (u32 i = 0; i < cnt; i++) {
        cd_abi_val *row = cd_arena_array(j->mem, cd_abi_val, FIELDS);
        row[0] = (cd_abi_val){.bytes = v[i].node_id};
        row[1] = (cd_abi_val){.bytes = cd_bytes_of(v[i].key, sizeof v[i].key)};
        row[2] = num_val(v[i].weight);
        rows[i] = (cd_abi_val){.items = row, .cnt = FIELDS};
    }
    const cd_abi_val fields[] = {
        hash_val(&d->net_id), hash_val(&d->manager_chain), addr_val(&m->address), {.items = rows, .cnt = cnt}};
    const cd_abi_val args[] = {{.items = fields, .cnt = CD_COUNT(fields)}, num_val(0)};
    cd_bytes call;
    CD_TRY(cd__evm_data(&call, j->mem,
                        "initializeValidatorSet((bytes32,bytes32,address,(bytes,bytes,uint64)[]),uint32)", args,
                        CD_COUNT(args), why));
    return bring(m, j, message, GAS_INITIALIZE + (u64)cnt * GAS_VALIDATOR, call, "the first validators", why);
}

/* What remains on the P-Chain is the payer's, who may also disable the validator there. */
static cd_abi_val owner_val(const cd__l1_job *j)
{
    enum { FIELDS = 2 };
    cd_abi_val *addr = cd_arena_new(j->mem, cd_abi_val);
    cd_abi_val *fields = cd_arena_array(j->mem, cd_abi_val, FIELDS);
    *addr = addr_val(&j->payer.addrs[0]);
    fields[0] = num_val(1);
    fields[1] = (cd_abi_val){.items = addr, .cnt = 1};
    return (cd_abi_val){.items = fields, .cnt = FIELDS};
}

cd_err cd__l1_manager_register(cd__l1_manager *m, cd__l1_job *j, const cd__l1_candidate *c, cd_errinfo *why)
{
    cd__evm_tx tx = {0};
    bool is_good;
    const cd_abi_val args[] = {{.bytes = cd_bytes_of(c->node.b, sizeof c->node.b)},
                               {.bytes = cd_bytes_of(c->key, sizeof c->key)},
                               owner_val(j),
                               owner_val(j),
                               num_val(c->weight)};
    if (m->is_pos) {
        tx.value = c->stake;
        CD_TRY(cd__evm_data(&tx.data, j->mem,
                            "initiateValidatorRegistration(bytes,bytes,(uint32,address[]),(uint32,address[]))", args,
                            CD_COUNT(args) - 1, why));
    } else {
        CD_TRY(cd__evm_data(&tx.data, j->mem,
                            "initiateValidatorRegistration(bytes,bytes,(uint32,address[]),(uint32,address[]),uint64)",
                            args, CD_COUNT(args), why));
    }
    return run(m, j, &tx, "registration", &is_good, why);
}

cd_err cd__l1_manager_remove(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, cd_errinfo *why)
{
    cd__evm_tx tx = {0};
    bool is_good;
    const cd_abi_val args[] = {hash_val(id)};
    CD_TRY(cd__evm_data(&tx.data, j->mem, "initiateValidatorRemoval(bytes32)", args, 1, why));
    return run(m, j, &tx, "removal", &is_good, why);
}

cd_err cd__l1_manager_weigh(cd__l1_manager *m, cd__l1_job *j, const cd_hash32 *id, u64 weight, cd_errinfo *why)
{
    cd__evm_tx tx = {0};
    bool is_good;
    const cd_abi_val args[] = {hash_val(id), num_val(weight)};
    CD_TRY(cd__evm_data(&tx.data, j->mem, "initiateValidatorWeightUpdate(bytes32,uint64)", args, 2, why));
    return run(m, j, &tx, "another weight", &is_good, why);
}

cd_err cd__l1_manager_complete(cd__l1_manager *m, cd__l1_job *j, const char *function, cd_bytes message,
                               cd_errinfo *why)
{
    const cd_abi_val args[] = {num_val(0)};
    cd_bytes call;
    CD_TRY(cd__evm_data(&call, j->mem, function, args, 1, why));
    return bring(m, j, message, GAS_COMPLETE, call, "the P-Chain's answer", why);
}
