/* The X-Chain as a VM: the contract of vm/vm.h, transactions of every kind, their refusals in the original's words. */
#include "rig.h"
#include "vm/test/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* --- the contract --- */

typedef struct contract_ctx {
    xrig r;
    u32 next; /* coin that is spent next */
} contract_ctx;

static cd_vm *ctx_open(void *ctx, cd_kv *kv)
{
    return rig_open(&((contract_ctx *)ctx)->r, kv, "");
}

static void ctx_want(void *ctx, cd_vm *vm)
{
    contract_ctx *c = ctx;
    cd_buf tx = {0};
    cd_hash32 id;
    cd_errinfo why = {0};
    rig_coin(&c->r, &tx, c->next++ % RIG_COINS, 1);
    cd_err e = cd_xvm_issue(vm, &id, cd_buf_bytes(&tx), true, &why);
    CD_ASSERT(e == CD_OK);
    cd_buf_fini(&tx);
}

static void keeps_the_contract(void **state)
{
    (void)state;
    static contract_ctx c;
    rig_init(&c.r, "");
    const contract_rig cr = {.open = ctx_open, .want = ctx_want, .ctx = &c};
    const char *broken = contract_check(&cr);
    if (broken != NULL) {
        print_message("%s\n", broken);
    }
    assert_null(broken);
    rig_fini(&c.r);
}

/* --- every kind of transaction --- */

static cd_err issue(xrig *r, const cd_buf *tx, cd_hash32 *id, cd_errinfo *why)
{
    *why = (cd_errinfo){0};
    return cd_xvm_issue(r->vm, id, cd_buf_bytes(tx), true, why);
}

/* Issues a transaction, and has it accepted. */
static cd_hash32 do_tx(xrig *r, cd_x_tx *tx, const cd_x_type *kinds, u32 cnt)
{
    cd_buf bytes = {0};
    cd_hash32 id;
    cd_errinfo why;
    rig_sign(r, &bytes, tx, kinds, cnt, 0);
    if (issue(r, &bytes, &id, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(rig_step(r), CD_OK);
    cd_buf_fini(&bytes);
    return id;
}

static bool has_utxo(xrig *r, const cd_hash32 *tx, u32 idx, u32 type)
{
    cd_arena a = {0};
    cd_hash32 id;
    cd_utxo u;
    cd_utxo_id(&id, tx, idx);
    bool ok = cd_utxo_get(&u, r->kv, &a, &cd_x_utxo_table, &id) == CD_OK && u.out.is->id == type;
    cd_arena_fini(&a);
    return ok;
}

/* An asset with all three extensions; outputs 1 to 4: secp mint, secp transfer, NFT mint, property mint. */
static cd_hash32 create(xrig *r, u32 coin, cd_owners minters)
{
    rig_transfer t;
    cd_owners me = {.threshold = 1, .addrs = {.v = &r->addr[0], .cnt = 1}};
    cd_transfer_output some = {.amount = 100, .owners = me};
    cd_x_nft_mint_output group = {.group_id = 7, .owners = me};
    cd_linear_any secp[] = {{.is = cd_x_case(CD_X_SECP_MINT_OUTPUT), .v = &minters},
                            {.is = cd_x_case(CD_X_SECP_OUTPUT), .v = &some}};
    cd_linear_any nft = {.is = cd_x_case(CD_X_NFT_MINT_OUTPUT), .v = &group};
    cd_linear_any property = {.is = cd_x_case(CD_X_PROPERTY_MINT_OUTPUT), .v = &me};
    cd_x_initial_state states[] = {{.outs = {.v = secp, .cnt = 2}},
                                   {.fx_index = 1, .outs = {.v = &nft, .cnt = 1}},
                                   {.fx_index = 2, .outs = {.v = &property, .cnt = 1}}};
    rig_coin_init(r, &t, coin, 0);
    cd_x_create_asset create = {.base = t.base,
                                .name = cd_bytes_str("Team Rocket"),
                                .symbol = cd_bytes_str("TR"),
                                .states = {.v = states, .cnt = 3}};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_CREATE_ASSET), .v = &create}};
    return do_tx(r, &tx, NULL, 1);
}

/* An operation on one output, paid with a coin. */
static void operation(xrig *r, cd_buf *bytes, u32 coin, const cd_hash32 *asset, const cd_hash32 *from, u32 idx,
                      cd_x_type kind, void *op, cd_x_type credential)
{
    rig_transfer t;
    cd_x_utxo_id id = {.tx_id = *from, .output_idx = idx};
    cd_x_op one = {.asset_id = *asset, .utxo_ids = {.v = &id, .cnt = 1}, .op = {.is = cd_x_case(kind), .v = op}};
    rig_coin_init(r, &t, coin, 0);
    cd_x_operation body = {.base = t.base, .ops = {.v = &one, .cnt = 1}};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_OPERATION), .v = &body}};
    const cd_x_type kinds[] = {CD_X_SECP_CREDENTIAL, credential};
    rig_sign(r, bytes, &tx, kinds, 2, 0);
}

static cd_hash32 operate(xrig *r, u32 coin, const cd_hash32 *asset, const cd_hash32 *from, u32 idx, cd_x_type kind,
                         void *op, cd_x_type credential)
{
    cd_buf bytes = {0};
    cd_hash32 id;
    cd_errinfo why;
    operation(r, &bytes, coin, asset, from, idx, kind, op, credential);
    if (issue(r, &bytes, &id, &why) != CD_OK) {
        fail_msg("%s", why.msg);
    }
    assert_int_equal(rig_step(r), CD_OK);
    cd_buf_fini(&bytes);
    return id;
}

/* The same, which must be refused with these words. */
static void refuses(xrig *r, const cd_hash32 *asset, const cd_hash32 *from, u32 idx, cd_x_type kind, void *op,
                    cd_x_type credential, const char *words)
{
    enum { COIN = 6 };
    cd_buf bytes = {0};
    cd_hash32 id;
    cd_errinfo why;
    operation(r, &bytes, COIN, asset, from, idx, kind, op, credential);
    assert_int_equal(issue(r, &bytes, &id, &why), CD_EINVAL);
    assert_string_equal(why.msg, words);
    cd_buf_fini(&bytes);
}

static void all_kinds(void **state)
{
    (void)state;
    static xrig r;
    u32 zero = 0;
    rig_init(&r, "");
    cd_auth_input sign = {.sig_indices = {.v = &zero, .cnt = 1}};
    cd_owners me = {.threshold = 1, .addrs = {.v = &r.addr[0], .cnt = 1}};
    cd_hash32 asset = create(&r, 0, me);
    assert_true(has_utxo(&r, &asset, 0, CD_X_SECP_OUTPUT)); /* the change */
    assert_true(has_utxo(&r, &asset, 1, CD_X_SECP_MINT_OUTPUT));
    assert_true(has_utxo(&r, &asset, 2, CD_X_SECP_OUTPUT));
    assert_true(has_utxo(&r, &asset, 3, CD_X_NFT_MINT_OUTPUT));
    assert_true(has_utxo(&r, &asset, 4, CD_X_PROPERTY_MINT_OUTPUT));

    cd_x_secp_mint mint = {.input = sign, .mint_output = me, .output = {.amount = 50, .owners = me}};
    static const char wrong_mint[] = "wrong mint output created from the operation";
    cd_owners other = {.threshold = 1, .addrs = {.v = &r.addr[1], .cnt = 1}};
    bool is_sorted = memcmp(r.addr[0].b, r.addr[1].b, sizeof r.addr[0].b) < 0;
    cd_addr20 sorted[] = {r.addr[is_sorted ? 0 : 1], r.addr[is_sorted ? 1 : 0]};
    cd_owners both = {.threshold = 1, .addrs = {.v = sorted, .cnt = 2}};
    cd_owners together = {.threshold = 2, .addrs = both.addrs};
    cd_owners nobody = {.threshold = 0};
    cd_owners later = me;
    later.locktime = 1;
    const cd_owners *const heirs[] = {&other, &both, &together, &nobody, &later};
    for (usize i = 0; i < CD_COUNT(heirs); i++) { /* the right to mint stays with who has it */
        mint.mint_output = *heirs[i];
        refuses(&r, &asset, &asset, 1, CD_X_SECP_MINT, &mint, CD_X_SECP_CREDENTIAL, wrong_mint);
    }
    mint.mint_output = me;
    refuses(&r, &r.asset, &asset, 1, CD_X_SECP_MINT, &mint, CD_X_SECP_CREDENTIAL,
            "asset IDs in the input don't match the utxo");
    cd_hash32 minted = operate(&r, 1, &asset, &asset, 1, CD_X_SECP_MINT, &mint, CD_X_SECP_CREDENTIAL);
    assert_true(has_utxo(&r, &minted, 1, CD_X_SECP_MINT_OUTPUT) && has_utxo(&r, &minted, 2, CD_X_SECP_OUTPUT));
    assert_false(has_utxo(&r, &asset, 1, CD_X_SECP_MINT_OUTPUT));

    cd_owners two[] = {me, me};
    cd_x_nft_mint art = {.input = sign, .group_id = 7, .payload = cd_bytes_str("art"), .outputs = {.v = two, .cnt = 2}};
    cd_hash32 nfts = operate(&r, 2, &asset, &asset, 3, CD_X_NFT_MINT, &art, CD_X_NFT_CREDENTIAL);
    assert_true(has_utxo(&r, &nfts, 1, CD_X_NFT_OUTPUT) && has_utxo(&r, &nfts, 2, CD_X_NFT_OUTPUT));
    cd_x_nft_transfer give = {.input = sign, .output = {.group_id = 7, .payload = cd_bytes_str("art"), .owners = me}};
    give.output.group_id = 8;
    refuses(&r, &asset, &nfts, 2, CD_X_NFT_TRANSFER, &give, CD_X_NFT_CREDENTIAL, "wrong unique ID provided");
    give.output.group_id = 7;
    give.output.payload = cd_bytes_str("arm");
    refuses(&r, &asset, &nfts, 2, CD_X_NFT_TRANSFER, &give, CD_X_NFT_CREDENTIAL, "wrong bytes provided");
    give.output.payload = cd_bytes_str("art");
    cd_hash32 given = operate(&r, 3, &asset, &nfts, 2, CD_X_NFT_TRANSFER, &give, CD_X_NFT_CREDENTIAL);
    assert_true(has_utxo(&r, &given, 1, CD_X_NFT_OUTPUT) && !has_utxo(&r, &nfts, 2, CD_X_NFT_OUTPUT));

    cd_x_property_mint own = {.input = sign, .mint_output = me, .owned_output = me};
    cd_hash32 owned = operate(&r, 4, &asset, &asset, 4, CD_X_PROPERTY_MINT, &own, CD_X_PROPERTY_CREDENTIAL);
    assert_true(has_utxo(&r, &owned, 1, CD_X_PROPERTY_MINT_OUTPUT) && has_utxo(&r, &owned, 2, CD_X_PROPERTY_OUTPUT));
    (void)operate(&r, 5, &asset, &owned, 2, CD_X_PROPERTY_BURN, &sign, CD_X_PROPERTY_CREDENTIAL);
    assert_false(has_utxo(&r, &owned, 2, CD_X_PROPERTY_OUTPUT));
    rig_fini(&r);
}

/* Who may mint together stays so: the same people, as many of them. */
static void minters_stay(void **state)
{
    (void)state;
    static xrig r;
    rig_init(&r, "");
    bool is_first = memcmp(r.addr[0].b, r.addr[1].b, sizeof r.addr[0].b) < 0;
    u32 mine = is_first ? 0 : 1;
    cd_addr20 sorted[] = {r.addr[is_first ? 0 : 1], r.addr[is_first ? 1 : 0]};
    cd_owners any = {.threshold = 1, .addrs = {.v = sorted, .cnt = 2}};
    cd_owners all = {.threshold = 2, .addrs = any.addrs};
    cd_owners me = {.threshold = 1, .addrs = {.v = &r.addr[0], .cnt = 1}};
    cd_hash32 asset = create(&r, 0, any);
    cd_x_secp_mint mint = {
        .input = {.sig_indices = {.v = &mine, .cnt = 1}}, .mint_output = all, .output = {.amount = 50, .owners = me}};
    refuses(&r, &asset, &asset, 1, CD_X_SECP_MINT, &mint, CD_X_SECP_CREDENTIAL,
            "wrong mint output created from the operation");
    mint.mint_output = any;
    cd_hash32 minted = operate(&r, 1, &asset, &asset, 1, CD_X_SECP_MINT, &mint, CD_X_SECP_CREDENTIAL);
    assert_true(has_utxo(&r, &minted, 1, CD_X_SECP_MINT_OUTPUT));
    rig_fini(&r);
}

/* --- between chains --- */

/* Exports a coin to the peer; the peer takes it, gives another, which is imported once. */
static void export_and_import(void **state)
{
    (void)state;
    static xrig r;
    rig_transfer t;
    rig_init(&r, "");
    rig_coin_init(&r, &t, 0, 0);
    cd_x_export out = {.base = t.base, .destination_chain = r.peer_id, .exported = t.base.outs};
    out.base.outs = (cd_linear_list){0};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_EXPORT), .v = &out}};
    cd_hash32 id = do_tx(&r, &tx, NULL, 1);

    cd_arena a = {0};
    cd_bytes *values;
    usize cnt;
    cd_vm_shared_cursor at = {.trait = {0}};
    cd_bytes trait = cd_bytes_of(r.addr[0].b, 20);
    assert_int_equal(r.peer.shared.indexed(&r.peer.shared, &values, &cnt, &a, &r.chain_id, &trait, 1, &at, 10), CD_OK);
    assert_int_equal(cnt, 1);
    cd_utxo u = {.out = {.v = NULL}};
    assert_int_equal(cd_utxo_parse(&u, &cd_x_utxo_table, &a, values[0], NULL), CD_OK);
    assert_memory_equal(&u.tx_id, &id, 32);
    assert_int_equal(u.output_idx, 0);

    /* The same output, as if the peer had made it. */
    cd_kv_batch batch = {0};
    cd_hash32 input;
    u.tx_id = (cd_hash32){{5}};
    cd_utxo_id(&input, &u.tx_id, 0);
    cd_buf value = {0};
    cd_linear_put(&value, &cd_x_utxo_table, &u);
    cd_vm_shared_elem elem = {
        .key = cd_bytes_of(input.b, 32), .value = cd_buf_bytes(&value), .traits = &trait, .trait_cnt = 1};
    cd_vm_shared_change change = {.peer = r.chain_id, .puts = &elem, .put_cnt = 1};
    assert_int_equal(r.peer.shared.apply(&r.peer.shared, &batch, &change, 1), CD_OK);
    assert_int_equal(cd_kv_commit(r.store, &batch, CD_KV_NOSYNC, NULL), CD_OK);
    cd_kv_batch_fini(&batch);

    u64 amount = RIG_COIN - RIG_FEE;
    rig_transfer_init(&r, &t, &u.tx_id, 0, amount, RIG_FEE, 1);
    cd_x_import in = {.base = t.base, .source_chain = r.peer_id, .imported = t.base.ins};
    in.base.ins = (cd_linear_list){0};
    tx = (cd_x_tx){.body = {.is = cd_x_case(CD_X_IMPORT), .v = &in}};
    id = do_tx(&r, &tx, NULL, 1);
    assert_true(has_utxo(&r, &id, 0, CD_X_SECP_OUTPUT));
    /* Once only, and nothing that the peer did not give. */
    cd_buf again = {0};
    cd_errinfo why;
    t.out.amount -= 1;
    rig_sign(&r, &again, &tx, NULL, 1, 0);
    assert_int_equal(issue(&r, &again, &id, &why), CD_ENOENT);
    assert_string_equal(why.msg, "not found");
    in.source_chain = r.chain_id;
    rig_sign(&r, &again, &tx, NULL, 1, 0);
    assert_int_equal(issue(&r, &again, &id, &why), CD_EINVAL);
    assert_string_equal(why.msg, "same chainID");
    cd_buf_fini(&again);
    cd_buf_fini(&value);
    cd_arena_fini(&a);
    rig_fini(&r);
}

static usize left_for_peer(xrig *r)
{
    cd_arena a = {0};
    cd_bytes *values;
    usize cnt = 0;
    cd_vm_shared_cursor at = {.trait = {0}};
    cd_bytes trait = cd_bytes_of(r->addr[0].b, 20);
    assert_int_equal(r->peer.shared.indexed(&r->peer.shared, &values, &cnt, &a, &r->chain_id, &trait, 1, &at, 10),
                     CD_OK);
    cd_arena_fini(&a);
    return cnt;
}

/* The batch of an export could not be written: neither chain has moved, also after a restart; written, both have. */
static void both_chains_or_none(void **state)
{
    (void)state;
    static const cd_vm_block_ctx no_ctx;
    static xrig r;
    rig_transfer t;
    cd_buf bytes = {0};
    cd_hash32 id;
    cd_errinfo why;
    cd_vm_block *b = NULL;
    cd_kv_batch lost = {0};
    rig_init(&r, "");
    rig_coin_init(&r, &t, 0, 0);
    cd_x_export out = {.base = t.base, .destination_chain = r.peer_id, .exported = t.base.outs};
    out.base.outs = (cd_linear_list){0};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_EXPORT), .v = &out}};
    rig_sign(&r, &bytes, &tx, NULL, 1, 0);
    assert_int_equal(issue(&r, &bytes, &id, &why), CD_OK);
    assert_int_equal(r.vm->ops->build(r.vm, &b, &no_ctx, NULL), CD_OK);
    cd_kv_batch_for(&lost, r.kv);
    assert_int_equal(r.vm->ops->accept(r.vm, b, &lost, NULL), CD_OK);
    cd_kv_batch_fini(&lost);
    assert_int_equal(left_for_peer(&r), 0);
    assert_true(has_utxo(&r, &r.asset, 1, CD_X_SECP_OUTPUT));
    r.vm->ops->release(r.vm, b);
    r.vm->ops->close(r.vm);
    r.vm = rig_open(&r, r.kv, "");
    assert_int_equal(left_for_peer(&r), 0);
    assert_int_equal(issue(&r, &bytes, &id, &why), CD_OK);
    assert_int_equal(rig_step(&r), CD_OK);
    assert_int_equal(left_for_peer(&r), 1);
    assert_false(has_utxo(&r, &r.asset, 1, CD_X_SECP_OUTPUT));
    cd_buf_fini(&bytes);
    rig_fini(&r);
}

/* --- refusals --- */

/* Signs and issues; the words must be these. */
static void refused(xrig *r, cd_x_tx *tx, u32 creds, const char *words)
{
    cd_buf bytes = {0};
    cd_hash32 id;
    cd_errinfo why;
    rig_sign(r, &bytes, tx, NULL, creds, 0);
    cd_err e = issue(r, &bytes, &id, &why);
    assert_int_not_equal(e, CD_OK);
    assert_string_equal(why.msg, words);
    cd_buf_fini(&bytes);
}

static void refusals_of_base(void **state)
{
    (void)state;
    static xrig r;
    rig_transfer t;
    u8 memo[257] = {0};
    cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_BASE_TX), .v = &t.base}};
    rig_init(&r, "");
#define AGAIN rig_coin_init(&r, &t, 0, 1)
    AGAIN;
    t.base.network_id = 1;
    refused(&r, &tx, 1, "tx has wrong network ID");
    AGAIN;
    t.base.chain_id.b[0] ^= 1;
    refused(&r, &tx, 1, "tx has wrong chain ID");
    AGAIN;
    t.base.memo = cd_bytes_of(memo, sizeof memo);
    refused(&r, &tx, 1, "memo exceeds maximum length: 257 > 256");
    AGAIN;
    t.out.amount += 1;
    refused(&r, &tx, 1, "insufficient funds");
    AGAIN;
    t.out.amount = 0;
    refused(&r, &tx, 1, "output has no value");
    AGAIN;
    t.output.asset_id = (cd_hash32){{0}};
    refused(&r, &tx, 1, "empty asset ID is not valid");
    AGAIN;
    refused(&r, &tx, 2, "wrong number of credentials: 2 != 1");
    AGAIN;
    t.input.output_idx = 999;
    refused(&r, &tx, 1, "not found");
    AGAIN;
    t.in.amount += 5;
    refused(&r, &tx, 1, "utxo amount and input amount are not equal: 1000000000000 != 1000000000005");
    AGAIN;
    t.input.output_idx = 0; /* who may mint */
    refused(&r, &tx, 1, "wrong utxo type");
    AGAIN;
    cd_x_input twice[2] = {t.input, t.input};
    t.base.ins = (cd_linear_list){.v = twice, .cnt = 2};
    refused(&r, &tx, 2, "inputs not sorted and unique");
    AGAIN;
    cd_transfer_output small = t.out;
    small.amount = 1;
    t.out.amount -= 1;
    cd_x_output wrong[2] = {t.output, {.asset_id = r.asset, .out = {.is = t.output.out.is, .v = &small}}};
    t.base.outs = (cd_linear_list){.v = wrong, .cnt = 2};
    refused(&r, &tx, 1, "outputs not sorted");
    AGAIN;
    small.amount = UINT64_MAX;
    wrong[0] = t.output;
    t.base.outs = (cd_linear_list){.v = wrong, .cnt = 2};
    refused(&r, &tx, 1, "overflow");
    AGAIN;
    t.input.asset_id.b[0] ^= 1;
    cd_x_input other = t.input;
    t.input.asset_id = r.asset;
    t.input.output_idx = 2;
    t.in.amount = RIG_COIN + 1;
    cd_transfer_input first = {.amount = RIG_COIN, .sig_indices = t.in.sig_indices};
    other.in.v = &first;
    cd_x_input both[2] = {other, t.input};
    t.base.ins = (cd_linear_list){.v = both, .cnt = 2};
    refused(&r, &tx, 2, "asset IDs in the input don't match the utxo");
    const cd_x_type nft = CD_X_NFT_CREDENTIAL;
    cd_buf bytes = {0};
    cd_hash32 id;
    cd_errinfo why;
    AGAIN;
    rig_sign(&r, &bytes, &tx, &nft, 1, 0);
    assert_int_equal(issue(&r, &bytes, &id, &why), CD_EINVAL);
    assert_string_equal(why.msg, "incompatible feature extension");
    rig_sign(&r, &bytes, &tx, NULL, 1, 1);
    assert_int_equal(issue(&r, &bytes, &id, &why), CD_EACCES);
    assert_memory_equal(why.msg, "wrong signature: expected signature from ", 41);
    cd_buf_fini(&bytes);
#undef AGAIN
    rig_fini(&r);
}

static void refusals_of_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *symbol;
        u8 denomination;
        const char *words;
    } rows[] = {
        {"", "A", 0, "name is too short, minimum size is 1"},
        {"A", "", 0, "symbol is too short, minimum size is 1"},
        {"A", "ABCDE", 0, "symbol is too long, maximum size is 4"},
        {"A", "A", 33, "denomination is too large"},
        {" A", "A", 0, "unexpected whitespace provided"},
        {"A_", "A", 0, "asset's name must be made up of only letters and numbers"},
        {"A", "a", 0, "asset's symbol must be all upper case letters"},
        {"A", "A", 0, "unknown feature extension"},
    };
    static xrig r;
    rig_transfer t;
    rig_init(&r, "");
    cd_x_initial_state odd = {.fx_index = 3};
    for (usize i = 0; i < CD_COUNT(rows); i++) {
        rig_coin_init(&r, &t, 0, 0);
        cd_x_create_asset create = {.base = t.base,
                                    .name = cd_bytes_str(rows[i].name),
                                    .symbol = cd_bytes_str(rows[i].symbol),
                                    .denomination = rows[i].denomination,
                                    .states = {.v = &odd, .cnt = 1}};
        cd_x_tx tx = {.body = {.is = cd_x_case(CD_X_CREATE_ASSET), .v = &create}};
        refused(&r, &tx, 1, rows[i].words);
    }
    rig_fini(&r);
}

/* --- blocks --- */

static cd_err verify_bytes(xrig *r, const cd_x_standard_block *body, cd_errinfo *why)
{
    static const cd_vm_block_ctx no_ctx;
    cd_x_block block = {.body = {.is = cd_x_case(CD_X_STANDARD_BLOCK), .v = (void *)(uintptr_t)body}};
    cd_buf bytes = {0};
    cd_vm_block *b = NULL;
    *why = (cd_errinfo){0};
    cd_linear_put(&bytes, &cd_x_block_table, &block);
    assert_int_equal(r->vm->ops->parse(r->vm, &b, cd_buf_bytes(&bytes), why), CD_OK);
    cd_err e = r->vm->ops->verify(r->vm, b, &no_ctx, why);
    r->vm->ops->release(r->vm, b);
    cd_buf_fini(&bytes);
    return e;
}

static void refusals_of_blocks(void **state)
{
    (void)state;
    static xrig r;
    cd_buf one = {0};
    cd_arena a = {0};
    cd_xvm_tx t;
    cd_errinfo why;
    u64 height;
    rig_init(&r, "");
    cd_x_standard_block good = {.height = 1, .time = r.clock.now_s};
    r.vm->ops->last_accepted(r.vm, &good.parent, &height);
    rig_coin(&r, &one, 0, 1);
    assert_int_equal(cd_xvm_tx_parse(&t, &a, cd_buf_bytes(&one), NULL), CD_OK);
    cd_x_tx twice[2] = {t.tx, t.tx};
    good.txs = (cd_linear_list){.v = twice, .cnt = 1};
    cd_x_standard_block bad = good;
    bad.merkle_root.b[0] = 1;
    assert_int_equal(verify_bytes(&r, &bad, &why), CD_EINVAL);
    assert_string_equal(why.msg, "unexpected merkle root");
    bad = good;
    bad.time += 11;
    assert_int_equal(verify_bytes(&r, &bad, &why), CD_EINVAL);
    assert_memory_equal(why.msg, "proposed timestamp is too far in the future", 43);
    bad = good;
    bad.time = 1607144399;
    assert_int_equal(verify_bytes(&r, &bad, &why), CD_EINVAL);
    assert_memory_equal(why.msg, "proposed timestamp before current chain time", 44);
    bad = good;
    bad.txs.cnt = 0;
    assert_int_equal(verify_bytes(&r, &bad, &why), CD_EINVAL);
    assert_string_equal(why.msg, "block contains no transactions");
    bad = good;
    bad.height = 2;
    assert_int_equal(verify_bytes(&r, &bad, &why), CD_EINVAL);
    bad = good;
    bad.txs.cnt = 2;
    assert_int_not_equal(verify_bytes(&r, &bad, &why), CD_OK);
    assert_int_equal(verify_bytes(&r, &good, &why), CD_OK);
    cd_arena_fini(&a);
    cd_buf_fini(&one);
    rig_fini(&r);
}

/* Junk in front of a good transaction: each attempt to build looks at so much of it only, tells the engine to come
 * again, and gets to the good one. */
static void junk_in_the_pool(void **state)
{
    (void)state;
    enum { JUNK = 1500 };
    static const cd_vm_block_ctx no_ctx;
    static xrig r;
    cd_buf tx = {0};
    cd_hash32 id;
    cd_vm_block *b = NULL;
    rig_init(&r, "");
    for (u32 i = 0; i < JUNK; i++) {
        rig_transfer t;
        cd_hash32 nowhere = {{3}};
        rig_transfer_init(&r, &t, &nowhere, i, RIG_COIN, RIG_FEE, 1);
        cd_x_tx body = {.body = {.is = cd_x_case(CD_X_BASE_TX), .v = &t.base}};
        rig_sign(&r, &tx, &body, NULL, 1, 0);
        assert_int_equal(cd_xvm_issue(r.vm, &id, cd_buf_bytes(&tx), false, NULL), CD_OK);
    }
    rig_coin(&r, &tx, 0, 1);
    assert_int_equal(cd_xvm_issue(r.vm, &id, cd_buf_bytes(&tx), true, NULL), CD_OK);
    usize told = r.host.told;
    assert_int_equal(r.vm->ops->build(r.vm, &b, &no_ctx, NULL), CD_ENOENT);
    assert_int_equal(r.host.told, told + 1);
    assert_int_equal(cd_xvm_pool_cnt(cd__xvm_of(r.vm)->pool), JUNK + 1 - 1024);
    assert_int_equal(rig_step(&r), CD_OK);
    assert_true(has_utxo(&r, &id, 0, CD_X_SECP_OUTPUT));
    assert_int_equal(cd_xvm_pool_cnt(cd__xvm_of(r.vm)->pool), 0);
    cd_buf_fini(&tx);
    rig_fini(&r);
}

/* --- opening --- */

static cd_err open_with(xrig *r, cd_kv *kv, const char *genesis, const char *config, const char *upgrades, cd_vm **vm,
                        cd_errinfo *why)
{
    cd_vm_ctx ctx = {.kv = kv,
                     .clock = &r->clock.base,
                     .genesis = genesis == NULL ? cd_buf_bytes(&r->genesis) : cd_bytes_str(genesis),
                     .config = cd_bytes_str(config),
                     .upgrades = cd_bytes_str(upgrades),
                     .network_id = RIG_NETWORK,
                     .chain_id = r->chain_id,
                     .name = "X"};
    *why = (cd_errinfo){0};
    return cd_xvm_open(vm, &ctx, why);
}

/* The first block stands on the stop vertex: that of the network, or that of an empty graph. */
static void first_block(void **state)
{
    (void)state;
    static xrig r;
    cd_vm *vm = NULL;
    cd_vm_block *b = NULL;
    cd_hash32 id;
    cd_hash32 empty;
    u64 height;
    cd_errinfo why;
    rig_init(&r, "");
    r.vm->ops->last_accepted(r.vm, &id, &height);
    assert_int_equal(r.vm->ops->get(r.vm, &b, &id), CD_OK);
    assert_int_equal(b->time, 1607144400);
    empty = b->parent;
    r.vm->ops->release(r.vm, b);
    cd_kv *kv = cd_kv_mem_open();
    const char *stop = "{\"cortinaXChainStopVertexID\":\"jrGWDh5Po9FMj54depyunNixpia5PN4aAYxfmNzU8n752Rjga\"}";
    assert_int_equal(open_with(&r, kv, NULL, "", stop, &vm, &why), CD_OK);
    vm->ops->last_accepted(vm, &id, &height);
    assert_int_equal(vm->ops->get(vm, &b, &id), CD_OK);
    cd_buf text = {0};
    cd_id_put(&text, &b->parent);
    assert_string_equal(cd_buf_cstr(&text), "jrGWDh5Po9FMj54depyunNixpia5PN4aAYxfmNzU8n752Rjga");
    assert_memory_not_equal(&b->parent, &empty, sizeof empty);
    vm->ops->release(vm, b);
    vm->ops->close(vm);
    cd_buf_fini(&text);
    cd_kv_close(kv);
    rig_fini(&r);
}

/* What cannot be opened says why, and leaves nothing behind. */
static void refusals_of_opening(void **state)
{
    (void)state;
    static xrig r;
    cd_vm *vm = NULL;
    cd_errinfo why;
    rig_init(&r, "");
    cd_kv *kv = cd_kv_mem_open();
    assert_int_not_equal(open_with(&r, kv, "", "", "", &vm, &why), CD_OK);
    assert_int_not_equal(open_with(&r, kv, NULL, "{\"index-transactions\":5}", "", &vm, &why), CD_OK);
    assert_int_not_equal(open_with(&r, kv, NULL, "", "{\"cortinaXChainStopVertexID\":\"?\"}", &vm, &why), CD_OK);
    assert_int_equal(open_with(&r, kv, NULL, "", "", &vm, &why), CD_OK); /* nothing was left behind */
    vm->ops->close(vm);
    assert_int_equal(open_with(&r, kv, "another", "", "", &vm, &why), CD_EINVAL);
    assert_string_equal(why.msg, "the store holds an X-Chain of another genesis");
    cd_kv_close(kv);
    rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_contract),  cmocka_unit_test(minters_stay),
        cmocka_unit_test(all_kinds),           cmocka_unit_test(export_and_import),
        cmocka_unit_test(refusals_of_base),    cmocka_unit_test(refusals_of_names),
        cmocka_unit_test(refusals_of_blocks),  cmocka_unit_test(junk_in_the_pool),
        cmocka_unit_test(both_chains_or_none), cmocka_unit_test(first_block),
        cmocka_unit_test(refusals_of_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
