/* The X-Chain on arbitrary bytes, as a transaction and as a block: what is read is written back to the byte and can be
 * shown; looking at it on a chain of the test's genesis changes nothing that is accepted. Signatures are not looked at,
 * so that what comes behind them is reached. */
#include "chains/xvm/test/rig.h"

int LLVMFuzzerTestOneInput(const u8 *data, usize size);

static xrig rig;

static void as_tx(cd_bytes in)
{
    cd_arena a = {0};
    cd_xvm_tx t;
    cd_xvm_effect effect;
    const cd__xvm *x = cd__xvm_of(rig.vm);
    const cd_linear_place place = {.chain = "X", .prefix = "lux"};
    if (cd_xvm_tx_parse(&t, &a, in, NULL) == CD_OK) {
        cd_buf out = {0};
        cd_json v;
        cd_linear_put(&out, &cd_x_tx_table, &t.tx);
        CD_ASSERT(cd_bytes_eq(cd_buf_bytes(&out), in));
        CD_ASSERT(cd_x_unsigned_size(&t.tx) < in.n);
        cd_buf_clear(&out);
        cd_json_w w = {.out = &out};
        cd_x_tx_json(&w, &place, &t.tx, &t.id);
        CD_ASSERT(cd_json_parse(&v, &a, cd_buf_bytes(&out), 0, NULL) == CD_OK);
        cd_buf_fini(&out);
        const cd_xvm_view view = {
            .rules = &x->rules, .kv = rig.kv, .fx = x->fx, .now = rig.clock.now_s, .is_trusted = true, .arena = &a};
        if (cd_xvm_form(&x->rules, &t, NULL) == CD_OK && cd_xvm_check(&view, &effect, &t, NULL) == CD_OK) {
            cd_kv_batch b = {0};
            CD_ASSERT(cd_xvm_apply(&view, &b, &effect, &t) == CD_OK);
            cd_kv_batch_fini(&b);
        }
    }
    cd_arena_fini(&a);
}

static void as_block(cd_bytes in)
{
    static const cd_vm_block_ctx no_ctx;
    cd_vm_block *b = NULL;
    cd_hash32 before;
    cd_hash32 after;
    u64 height;
    rig.vm->ops->last_accepted(rig.vm, &before, &height);
    if (rig.vm->ops->parse(rig.vm, &b, in, NULL) == CD_OK) {
        CD_ASSERT(cd_bytes_eq(b->bytes, in));
        if (b->status == CD_VM_UNKNOWN && rig.vm->ops->verify(rig.vm, b, &no_ctx, NULL) == CD_OK) {
            CD_ASSERT(rig.vm->ops->reject(rig.vm, b) == CD_OK);
        }
        rig.vm->ops->release(rig.vm, b);
    }
    rig.vm->ops->last_accepted(rig.vm, &after, &height);
    CD_ASSERT(cd_hash32_eq(&before, &after) && height == 0);
}

int LLVMFuzzerTestOneInput(const u8 *data, usize size)
{
    if (rig.vm == NULL) {
        rig_init(&rig, "{\"index-transactions\":true}");
        CD_ASSERT(rig.vm->ops->set_state(rig.vm, CD_VM_BOOTSTRAPPING, NULL) == CD_OK);
    }
    as_tx(cd_bytes_of(data, size));
    as_block(cd_bytes_of(data, size));
    return 0;
}
