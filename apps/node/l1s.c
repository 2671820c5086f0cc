/* How the L1s that the node tracks are, for their operators. */
#include "l1s.h"

#include "base/os/clock.h"
#include "chains/platform/platform_vm.h"
#include "options.h"

/* What fails the check is what an operator can mend in time; all else is in its message, and in the log. */
static const char *wrong_of(const cd_l1_health *h)
{
    return h->standing.state == CD_L1_HALTS  ? "the L1 stands still"
           : h->standing.state == CD_L1_SLOW ? "the L1 decides slowly: it is close to standing still"
           : h->outlook.soon != 0            ? "balances of the L1's validators end soon"
                                             : NULL;
}

static void look(void *ctx, cd_l1_word *out, cd_arena *a, cd_vm *p, const cd_hash32 *net)
{
    const cd__l1s *l = ctx;
    cd_l1_facts f;
    cd_l1_health h;
    cd_buf text = {0};
    cd_json_w w = {.out = &text};
    if (cd_platform_vm_l1(p, &f, a, net) != CD_OK) {
        return; /* it is none yet; a store that does not answer is told elsewhere */
    }
    f.within_s = l->within_s;
    cd_l1_diagnose(&h, a, &f);
    cd_json_w_obj(&w);
    cd_l1_health_put(&w, a, &h, &f, false);
    cd_json_w_obj_end(&w);
    const cd_l1_standing *s = &h.standing;
    *out = (cd_l1_word){
        .is_l1 = true,
        .message = cd_arena_dup(a, cd_buf_bytes(&text)),
        .state = s->state,
        .validators = f.cnt,
        .inactive = s->inactive,
        .unreachable = s->away,
        .can_fail = s->can_fail,
        .voting_permille = s->total == 0 ? 0 : (u64)((u128)s->there * 1000 / s->total),
        .first_end_s = h.outlook.first_s,
        .halt_s = h.outlook.halt_s,
    };
    out->wrong = wrong_of(&h);
    if (!cd_l1_is_well(&h)) {
        out->cause = cd_l1_cause_name(h.findings[0].cause);
        out->text = h.findings[0].text;
        out->help = h.findings[0].help;
    }
    cd_buf_fini(&text);
}

void cd__l1s_load(cd__l1s *out, const cd_args *a, const cd_tracked_cfg *tracked)
{
    *out = (cd__l1s){.within_s = cd_args_u64(a, OPT_L1_WARNING) / CD_NS_PER_SEC};
    out->cfg = (cd_l1_watch_cfg){.nets = tracked->nets, .net_cnt = tracked->net_cnt, .look = look, .ctx = out};
}
