/* Which state the network offers: a sample of beacons shows summaries, then all beacons say which of them are theirs,
 * too; the VM syncs to one that more than half of the stake confirms, before any block is fetched. The questions are
 * those of agree.c, with summaries in place of blocks. */
#include "consensus/bootstrap/bootstrap_priv.h"

/* So many rounds without enough answers, or syncs that ended nowhere, and the chain is fetched block by block. */
enum { ROUNDS_MAX = 3, SYNCS_MAX = 8, SUMMARY_BYTES_MAX = 1 << 20 };
#define AFTER_SYNC_NS (10 * CD_NS_PER_SEC)

static const cd_vm_sync_ops *sync_of(const bootstrap *s)
{
    return s->vm->ops->sync;
}

bool cd__boot_wants_state(const bootstrap *s)
{
    return sync_of(s) != NULL && s->cfg.net->get_summary_frontier != NULL && sync_of(s)->is_enabled(s->vm);
}

void cd__boot_no_state(bootstrap *s)
{
    cd_errinfo why = {0};
    s->wants_state = false;
    cd_arena_fini(&s->summary_arena);
    s->summary_arena = (cd_arena){0};
    cd_voters_fini(&s->beacons); /* those of blocks may be others */
    s->was_connected = s->was_connected && s->cfg.sync_beacon_cnt == 0;
    cd_err e = s->vm->ops->set_state(s->vm, CD_VM_BOOTSTRAPPING, &why);
    if (e != CD_OK) {
        cd__boot_halt(s, "the chain does not begin to bootstrap", e, &why);
        return;
    }
    cd__boot_again(s, 0);
}

/* Too few have answered. */
static void again(bootstrap *s)
{
    if (++s->summary_rounds < ROUNDS_MAX) {
        cd__boot_again(s, BOOT_RETRY_NS);
        return;
    }
    cd_log_info(s->cfg.log, "most of the stake shows no state to sync to: blocks are fetched",
                CD_F("chain", s->cfg.name));
    cd__boot_no_state(s);
}

/* --- what is shown --- */

static void add(bootstrap *s, cd_bytes bytes)
{
    cd_vm_summary parsed;
    bool is_new = bytes.n != 0 && bytes.n <= SUMMARY_BYTES_MAX &&
                  sync_of(s)->parse(s->vm, &parsed, &s->summary_arena, bytes, NULL) == CD_OK;
    for (u32 i = 0; i < s->candidate_cnt && is_new; i++) {
        is_new = !cd_hash32_eq(&s->candidates[i].id, &parsed.id);
    }
    if (is_new) {
        s->summaries[s->candidate_cnt] = parsed;
        s->candidates[s->candidate_cnt++] = (candidate){.id = parsed.id};
    }
}

void cd__boot_on_summary(bootstrap *s, const cd_node_id *from, cd_bytes summary, bool is_silent)
{
    const beacon *b = cd__boot_answers(s, from);
    if (b == NULL) {
        return;
    }
    s->silent += is_silent ? b->stake : 0;
    add(s, summary);
    if (s->open != 0) {
        return;
    }
    u64 asked = 0;
    for (u32 i = 0; i < s->beacons.weights.cnt; i++) {
        asked += s->asked[i].state == TOLD ? s->asked[i].stake : 0;
    }
    if (s->candidate_cnt != 0) {
        cd__boot_begin_agreement(s);
    } else if (s->silent > asked / 2) {
        again(s);
    } else {
        cd__boot_no_state(s); /* they have none, and say so */
    }
}

/* --- what is chosen --- */

/* The one that was being synced to when the program ended, or else the highest; NULL: none has enough stake. */
static const cd_vm_summary *choose(bootstrap *s, u64 enough)
{
    const cd_vm_summary *best = NULL;
    cd_vm_summary ongoing;
    bool has_ongoing = sync_of(s)->ongoing(s->vm, &ongoing, &s->summary_arena) == CD_OK;
    for (u32 i = 0; i < s->candidate_cnt; i++) {
        const cd_vm_summary *at = &s->summaries[i];
        if (s->candidates[i].stake < enough) {
            continue;
        }
        if (has_ongoing && cd_hash32_eq(&at->id, &ongoing.id)) {
            return at;
        }
        best = best == NULL || at->height > best->height ? at : best;
    }
    return best;
}

void cd__boot_end_summaries(bootstrap *s, u64 enough)
{
    cd_errinfo why = {0};
    cd_vm_sync_mode mode = CD_VM_SYNC_SKIPPED;
    const cd_vm_summary *best = choose(s, enough);
    if (best == NULL && s->beacons.weights.total - s->silent < enough) {
        again(s);
        return;
    }
    if (best == NULL) {
        cd_log_info(s->cfg.log, "no state that the beacons agree on: blocks are fetched", CD_F("chain", s->cfg.name));
        cd__boot_no_state(s);
        return;
    }
    s->sync_height = best->height;
    s->is_sync_over = false;
    cd__boot_step(s, CD_BOOTSTRAP_SYNCS); /* the VM may be there before accept returns */
    cd_err e = sync_of(s)->accept(s->vm, &mode, best, &why);
    if (e != CD_OK) {
        cd_log_error(s->cfg.log, "the state cannot be synced: blocks are fetched", CD_F("chain", s->cfg.name),
                     CD_F("height", best->height),
                     CD_F("error", why.msg[0] != '\0' ? (const char *)why.msg : cd_err_str(e)));
    } else if (mode == CD_VM_SYNC_STATIC) {
        cd_log_info(s->cfg.log, "syncing state", CD_F("chain", s->cfg.name), CD_F("height", best->height));
        return;
    }
    cd__boot_no_state(s);
}

/* --- what came of it --- */

void cd__boot_look_at_sync(bootstrap *s)
{
    cd_hash32 id;
    u64 height;
    if (s->step != CD_BOOTSTRAP_SYNCS || !s->is_sync_over) {
        return;
    }
    s->is_sync_over = false;
    s->vm->ops->last_accepted(s->vm, &id, &height);
    if (height >= s->sync_height) {
        cd_log_info(s->cfg.log, "the state is synced: blocks are fetched from here", CD_F("chain", s->cfg.name),
                    CD_F("height", height));
        cd__boot_no_state(s);
    } else if (++s->syncs < SYNCS_MAX) {
        cd_log_warn(s->cfg.log, "the sync of the state ended early: asking for another summary",
                    CD_F("chain", s->cfg.name), CD_F("height", s->sync_height));
        s->summary_rounds = 0;
        cd__boot_again(s, AFTER_SYNC_NS);
    } else {
        cd_log_error(s->cfg.log, "the state cannot be synced: blocks are fetched", CD_F("chain", s->cfg.name));
        cd__boot_no_state(s);
    }
}
