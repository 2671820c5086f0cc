/* What a development network is told at its start, and what it leaves at its end. [spec:dev-rpc#3.5] */
#include "base/log/log.h"
#include "base/os/clock.h"
#include "base/os/fileio.h"
#include "chains/evmchain/dev/dump.h"
#include "chains/evmchain/dev/options.h"

enum { ABI_FILE_MAX = 64 << 20 };

/* --- names for the log --- */

/* What was found below one path. */
typedef struct finding {
    cd_dev *d;
    usize abis;
} finding;

/* The ABI in a document: the array itself, or what compilers and frameworks wrap it into. */
static cd_json abi_of(cd_json doc)
{
    return cd_json_kind_of(doc) == CD_JSON_ARR ? doc : cd_json_get(doc, "abi");
}

static cd_err read_abi(finding *f, const char *path, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_buf text = {0};
    cd_json doc;
    cd_err e = cd_fs_read_file(cd_fs_real(), &text, path, ABI_FILE_MAX, why);
    if (e == CD_OK) {
        e = cd_json_parse(&doc, &a, cd_buf_bytes(&text), 0, why);
    }
    if (e == CD_OK && cd_json_kind_of(abi_of(doc)) == CD_JSON_ARR) {
        e = cd_names_add(f->d->names, abi_of(doc), why);
        f->abis += e == CD_OK;
    }
    cd_buf_fini(&text);
    cd_arena_fini(&a);
    return e;
}

static bool ends_in(const char *path, const char *end)
{
    usize n = strlen(path);
    usize m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

/* Artifacts of Hardhat and Foundry. Their records of whole builds hold the same ABIs again beside all sources. */
static cd_err visit(void *ctx, const char *path, cd_fs_kind kind)
{
    finding *f = ctx;
    cd_errinfo why = {0};
    if (kind == CD_FS_FILE && ends_in(path, ".json") && !ends_in(path, ".dbg.json") &&
        strstr(path, "/build-info/") == NULL && read_abi(f, path, &why) != CD_OK) {
        cd_log_warn(f->d->api->log, "no names taken from a file", CD_F("file", path),
                    CD_F("why", (const char *)why.msg));
    }
    return CD_OK;
}

static cd_err read_abis(cd_dev *d, const char *path, cd_errinfo *why)
{
    finding f = {.d = d};
    cd_fs_stat st;
    CD_TRY(cd_fs_stat_get(cd_fs_real(), &st, path, why));
    if (st.kind == CD_FS_DIR) {
        CD_TRY(cd_fs_walk(cd_fs_real(), path, visit, &f, why));
    } else {
        cd_errinfo inner = {0};
        cd_err e = read_abi(&f, path, &inner);
        if (e != CD_OK) {
            return cd_fail(why, e, "%s: not an ABI: %s", path, inner.msg);
        }
    }
    if (f.abis == 0) {
        return cd_fail(why, CD_ENOENT, "%s: no ABI in there", path);
    }
    cd_log_info(d->api->log, "names of functions and errors", CD_F("path", path), CD_F("abis", f.abis));
    return CD_OK;
}

/* --- the state --- */

cd_err cd_dev_state_genesis(cd_buf *out, cd_bytes state, cd_errinfo *why)
{
    cd_arena a = {0};
    cd_json doc;
    cd_err e = cd__dump_open(&doc, &a, state, why);
    if (e == CD_OK) {
        cd_json genesis = cd_json_get(cd_json_get(doc, "candela"), "genesis");
        e = cd_json_kind_of(genesis) == CD_JSON_OBJ ? CD_OK : CD_ENOENT;
        if (e == CD_OK) {
            cd_json_raw(out, genesis);
        }
    }
    cd_arena_fini(&a);
    return e;
}

/* The dump's last block is one of ours: its state is behind this chain's, or is it. */
static bool is_past(const cd_dev *d, cd_json doc)
{
    cd_hash32 head;
    cd_block b;
    cd_arena a = {0};
    cd_json v = cd_json_get(cd_json_get(doc, "candela"), "head");
    bool found = cd_chain_version(d->api->chain) != 0 && cd_json_fixed(head.b, 32, v, NULL) == CD_OK &&
                 cd_chain_block_by_hash(d->api->chain, &b, NULL, &a, &head) == CD_OK;
    cd_arena_fini(&a);
    return found;
}

static cd_err load_state(cd_dev *d, const cd_dev_options *o, cd_errinfo *why)
{
    cd_errinfo inner = {0};
    cd_arena a = {0};
    cd_json doc;
    cd_err e = cd__dump_open(&doc, &a, o->state, &inner);
    if (e == CD_OK && is_past(d, doc)) {
        cd_log_info(d->api->log, "state not loaded: this chain goes on from it", CD_F("file", o->state_name));
    } else if (e == CD_OK) {
        e = cd__dump_take(d, doc, &inner);
    }
    cd_arena_fini(&a);
    return e == CD_OK ? CD_OK
                      : cd_fail(why, e, "%s: Failed to decode state dump: %s", o->state_name,
                                inner.msg[0] != '\0' ? inner.msg : cd_err_str(e));
}

cd_err cd_dev_start(cd_dev *d, cd_errinfo *why)
{
    const cd_dev_options *o = d->options;
    if (o == NULL) {
        return CD_OK;
    }
    for (usize i = 0; i < o->abi_cnt; i++) {
        CD_TRY(read_abis(d, o->abis[i], why));
    }
    if (o->state.n != 0) {
        CD_TRY(load_state(d, o, why));
    }
    d->throws_on_revert = o->throws_on_revert;
    d->dump_file = o->dump_file;
    d->dump_every_ns = o->dump_file == NULL ? 0 : o->dump_every_s * CD_NS_PER_SEC;
    d->dump_at_ns = cd_clock_mono_ns(d->api->clock) + d->dump_every_ns;
    return CD_OK;
}

void cd__dev_save_state(cd_dev *d)
{
    cd_errinfo why = {0};
    cd_buf text = {0};
    if (d->dump_file == NULL) {
        return;
    }
    cd_view *v = cd_view_newest(d->api->chain);
    cd_err e = cd__dump_put(&text, d, v);
    if (e == CD_OK) {
        e = cd_fs_replace_file(cd_fs_real(), d->dump_file, cd_buf_bytes(&text), 0644, &why);
    }
    if (e != CD_OK) {
        cd_log_error(d->api->log, "the state is not written", CD_F("file", d->dump_file),
                     CD_F("error", why.msg[0] != '\0' ? (const char *)why.msg : cd_err_str(e)));
    }
    cd_view_unref(v);
    cd_buf_fini(&text);
    d->dump_at_ns = cd_clock_mono_ns(d->api->clock) + d->dump_every_ns;
}
