#include "node/peers/tuning.h"

static void set_default(u64 *v, u64 def)
{
    *v = *v != 0 ? *v : def;
}

void cd_node_tuning_fill(cd_node_tuning *t)
{
    t->voting = t->voting.k != 0 ? t->voting : cd_snow_params_default();
    t->send_fails_max = t->send_fails_max != 0 ? t->send_fails_max : 0.9;
    set_default(&t->tick_ns, 100 * CD_NS_PER_MS);
    set_default(&t->silence_in_ns, 60 * CD_NS_PER_SEC);
    set_default(&t->silence_out_ns, 60 * CD_NS_PER_SEC);
    set_default(&t->request_ns, 300 * CD_NS_PER_SEC);
    set_default(&t->requests_max, 1024);
    set_default(&t->blocks_max, 256);
    set_default(&t->waiting_ns, 30 * CD_NS_PER_SEC);
}
