#include "lab/rig_priv.h"

#include "base/mem/mem.h"

cd__rig *cd__rig_new(const void *cfg, cd_evm_tier tier, bool json)
{
    cd__rig *r = cd_new(cd__rig);
    r->cfg = cfg;
    r->json = json;
    r->build = cd_trie_build_new(NULL, NULL);
    r->evm = cd_evm_new();
    r->state = cd_state_new(NULL);
    cd_evm_set_tier(r->evm, tier);
    return r;
}

void cd__rig_free(void *rig)
{
    cd__rig *r = rig;
    if (r == NULL) {
        return;
    }
    cd_state_free(r->state);
    cd_evm_free(r->evm);
    cd_trie_build_free(r->build);
    cd_arena_fini(&r->unit);
    cd_arena_fini(&r->file);
    cd_free(r);
}

bool cd__rig_open(cd__rig *r, cd_json *out, cd_bytes text, cd_tally *tally, cd_buf *lines, const char *path)
{
    cd_json doc;
    cd_errinfo why = {0};
    cd_arena_reset(&r->file);
    cd_err e = cd_json_parse(&doc, &r->file, text, 0, &why);
    if (e == CD_OK) {
        e = cd_json_obj(doc, &why);
    }
    if (e != CD_OK) {
        cd__rig_fail(r, tally, lines, path, cd_bytes_str(path), &why);
        return false;
    }
    *out = doc;
    return true;
}

void cd__rig_fail(const cd__rig *r, cd_tally *tally, cd_buf *lines, const char *path, cd_bytes name,
                  const cd_errinfo *why)
{
    tally->failed++;
    cd_verdict v = {.name = name, .fork = "", .error = why->msg};
    cd_verdict_put(lines, &v, r->json, path);
}
