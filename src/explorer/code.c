#include "crypto/hash/keccak.h"
#include "explorer/explorer_priv.h"

enum { OP_PUSH1 = 0x60, OP_PUSH4 = 0x63, OP_PUSH32 = 0x7f };

/* --- what stands in it --- */

/* Selectors are what a dispatcher pushes to compare with; other constants of four bytes get in too, and do no harm. */
static void find_selectors(cd__code *c)
{
    for (usize i = 0; i < c->code.n && c->selectors_cnt < CD__SELECTORS_MAX; i++) {
        u8 op = c->code.p[i];
        if (op == OP_PUSH4 && c->code.n - i > 4) {
            memcpy(c->selectors[c->selectors_cnt++], c->code.p + i + 1, 4);
        }
        if (op >= OP_PUSH1 && op <= OP_PUSH32) {
            i += op - OP_PUSH1 + 1u;
        }
    }
}

/* Compilers end the code with CBOR, whose size stands in the last two bytes: {…, "solc": three bytes}. */
static void find_compiler(cd__code *c)
{
    static const u8 key[] = {0x64, 's', 'o', 'l', 'c', 0x43};
    usize n = c->code.n;
    usize size = n < 2 ? 0 : cd_be16(c->code.p + n - 2);
    if (size + 2 > n) {
        return;
    }
    for (usize i = n - 2 - size; i + sizeof key + 3 <= n - 2; i++) {
        if (memcmp(c->code.p + i, key, sizeof key) == 0) {
            memcpy(c->compiler, c->code.p + i + sizeof key, 3);
        }
    }
}

bool cd__code_has(const cd__code *c, const char *signature)
{
    u8 wanted[4];
    cd_abi_selector(wanted, signature);
    for (usize i = 0; i < c->selectors_cnt; i++) {
        if (memcmp(c->selectors[i], wanted, 4) == 0) {
            return true;
        }
    }
    return false;
}

usize cd__code_kinds(const char *out[8], const cd__code *c)
{
    static const struct {
        const char *name;
        const char *has[6]; /* all of them */
    } kinds[] = {
        {"ERC-20",
         {"transfer(address,uint256)", "transferFrom(address,address,uint256)", "approve(address,uint256)",
          "allowance(address,address)", "balanceOf(address)", "totalSupply()"}},
        {"ERC-721",
         {"ownerOf(uint256)", "safeTransferFrom(address,address,uint256)", "setApprovalForAll(address,bool)",
          "getApproved(uint256)", "balanceOf(address)"}},
        {"ERC-1155",
         {"balanceOf(address,uint256)", "safeTransferFrom(address,address,uint256,uint256,bytes)",
          "setApprovalForAll(address,bool)"}},
        {"ERC-4626",
         {"asset()", "convertToAssets(uint256)", "deposit(uint256,address)", "redeem(uint256,address,address)"}},
        {"Wrapped coin", {"deposit()", "withdraw(uint256)", "balanceOf(address)"}},
        {"Pair", {"getReserves()", "token0()", "token1()", "swap(uint256,uint256,address,bytes)"}},
        {"Ownable", {"owner()", "transferOwnership(address)"}},
        {"Access control", {"hasRole(bytes32,address)", "grantRole(bytes32,address)"}},
    };
    usize cnt = 0;
    for (usize i = 0; i < CD_COUNT(kinds); i++) {
        bool has_all = true;
        for (usize k = 0; k < CD_COUNT(kinds[i].has) && kinds[i].has[k] != NULL; k++) {
            has_all = has_all && cd__code_has(c, kinds[i].has[k]);
        }
        if (has_all) {
            out[cnt++] = kinds[i].name;
        }
    }
    return cnt;
}

/* --- reading it --- */

static cd_err code_of(cd__xp *p, cd_bytes *out, cd_state_source *src, const cd_addr20 *addr)
{
    cd_account account;
    bool found = false;
    *out = (cd_bytes){0};
    CD_TRY(src->account(src, &account, &found, addr));
    if (found && !cd_hash32_eq(&account.code_hash, &CD_HASH_EMPTY_CODE)) {
        cd_bytes code;
        CD_TRY(src->code(src, &code, &account.code_hash));
        *out = cd_arena_dup(&p->a, code);
    }
    return CD_OK;
}

/* Where a proxy leads; false: it is none. */
static cd_err target_of(cd__code *c, bool *is_proxy, cd_state_source *src, const cd_addr20 *addr)
{
    static const u8 minimal[] = {0x36, 0x3d, 0x3d, 0x37, 0x3d, 0x3d, 0x3d, 0x36, 0x3d, 0x73};
    static const u8 delegated[] = {0xef, 0x01, 0x00};
    cd_hash32 name;
    cd_u256 slot;
    cd_u256 value;
    *is_proxy = true;
    if (c->code.n == 45 && memcmp(c->code.p, minimal, sizeof minimal) == 0) {
        c->proxy = "EIP-1167";
        memcpy(c->target.b, c->code.p + sizeof minimal, 20);
        return CD_OK;
    }
    if (c->code.n == 23 && memcmp(c->code.p, delegated, sizeof delegated) == 0) {
        c->proxy = "EIP-7702";
        memcpy(c->target.b, c->code.p + sizeof delegated, 20);
        return CD_OK;
    }
    cd_keccak256(&name, cd_bytes_str("eip1967.proxy.implementation"));
    slot = cd_u256_from_hash(&name);
    const cd_u256 one = cd_u256_one();
    cd_u256_sub(&slot, &slot, &one);
    CD_TRY(src->storage(src, &value, addr, &slot));
    c->proxy = "EIP-1967";
    c->target = cd_u256_to_addr(&value);
    *is_proxy = !cd_u256_is_zero(&value);
    return CD_OK;
}

cd_err cd__code_read(cd__xp *p, cd__code *out, const cd_addr20 *addr)
{
    cd_view_source s;
    bool is_proxy = false;
    CD_TRY(cd_view_source_init(&s, p->view, cd_view_head(p->view)->block.header.number));
    *out = (cd__code){0};
    cd_err e = code_of(p, &out->code, &s.world.src, addr);
    if (e == CD_OK && out->code.n != 0) {
        e = target_of(out, &is_proxy, &s.world.src, addr);
    }
    if (e == CD_OK && is_proxy) {
        out->facade = out->code;
        e = code_of(p, &out->code, &s.world.src, &out->target);
    } else {
        out->proxy = NULL;
    }
    cd_view_source_fini(&s);
    CD_TRY(e);
    find_selectors(out);
    find_compiler(out);
    return CD_OK;
}
