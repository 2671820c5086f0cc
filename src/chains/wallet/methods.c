#include "chains/wallet/methods.h"

#include "codec/api_json.h"
#include "codec/bech32.h"

cd_err cd_wallet_said(cd_rpc_call *call, cd_err e, const cd_errinfo *why)
{
    return e == CD_OK ? CD_OK : cd_rpc_fail(call, CD_RPC_SERVER, "%s", why->msg);
}

/* The key's place, or k->cnt. */
static usize find(const cd_wallet_keys *k, const cd_addr20 *addr, const cd_addr20 *acct)
{
    const cd_addr20 *all = addr != NULL ? k->addrs : k->accts;
    const cd_addr20 *one = addr != NULL ? addr : acct;
    usize i = 0;
    while (i < k->cnt && memcmp(all[i].b, one->b, sizeof one->b) != 0) {
        i++;
    }
    return i;
}

cd_err cd_wallet_show_key(cd_rpc_call *call, const cd_vm_users *users, const cd_vm_user *user, const cd_hash32 *chain,
                          const cd_addr20 *addr, const cd_addr20 *acct)
{
    cd_wallet_keys keys;
    cd_buf text = {0};
    cd_errinfo why = {0};
    cd_err e = cd_wallet_keys_open(&keys, users, user, chain, NULL, 0, call->arena, &why);
    usize i = e == CD_OK ? find(&keys, addr, acct) : 0;
    if (e == CD_OK && (i == keys.cnt || cd_wallet_keys_text(&text, &keys, &keys.addrs[i]) != CD_OK)) {
        e = cd_fail(&why, CD_ENOENT, "problem retrieving private key: not found");
    }
    if (e == CD_OK) {
        cd_json_w_obj(call->out);
        cd_json_put_str(call->out, "privateKey", cd_buf_bytes(&text));
        if (addr == NULL) {
            cd_json_put_hex(call->out, "privateKeyHex", cd_bytes_of(keys.secrets.p + 32 * i, 32));
        }
        cd_json_w_obj_end(call->out);
    }
    cd_wipe(text.p, text.n);
    cd_buf_fini(&text);
    cd_wallet_keys_close(&keys);
    return cd_wallet_said(call, e, &why);
}

/* An address without a chain in front of it. */
static cd_err read_alone(cd_chain_addr *out, cd_bytes text, cd_errinfo *why)
{
    cd_bech32 read;
    CD_TRY(cd_bech32_parse(&read, text, why));
    if (read.n != sizeof out->addr.b) {
        return cd_fail(why, CD_EFORMAT, "expected %zu bytes but got %zu", sizeof out->addr.b, read.n);
    }
    memcpy(out->prefix, read.prefix, sizeof out->prefix);
    memcpy(out->addr.b, read.b, sizeof out->addr.b);
    return CD_OK;
}

cd_err cd_wallet_there(cd_addr20 *to, cd_bytes *chain, cd_bytes text, cd_bytes target, const char *prefix,
                       cd_errinfo *why)
{
    cd_chain_addr addr = {.chain = target};
    bool has_chain = text.n != 0 && memchr(text.p, '-', text.n) != NULL;
    if (!has_chain && target.n == 0) {
        return cd_fail(why, CD_ENOENT, "argument 'targetChain' not given");
    }
    *chain = target;
    if (!has_chain && cd_short_id_parse(to, text, NULL) == CD_OK) {
        return CD_OK; /* as the original's own clients write them */
    }
    CD_TRY(has_chain ? cd_chain_addr_parse(&addr, text, why) : read_alone(&addr, text, why));
    if (strcmp(addr.prefix, prefix) != 0) {
        return cd_fail(why, CD_EFORMAT, "expected hrp \"%s\" but got \"%s\"", prefix, addr.prefix);
    }
    *to = addr.addr;
    *chain = target.n == 0 ? addr.chain : target;
    return CD_OK;
}
