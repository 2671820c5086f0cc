/* candela-adx - an ad exchange: commands, and the names that select one. */
#include "apps/adx/commands.h"

#include "base/args/program.h"

static const cd_command commands[] = {
    {"exchange", "adx-exchange", cd_cmd_exchange, "take bid requests and players, ask bidders, keep the books"},
    {"miner", "adx-miner", cd_cmd_miner, "serve media at home, and earn by it: start, stop, status, earnings"},
    {"daemon", "adxd", cd_cmd_daemon, "exchange and miner in one process"},
    {"ledger", NULL, cd_cmd_ledger, "check the books, and say what they say"},
    {"seal-bid", NULL, cd_cmd_seal_bid, "make a bid for a sealed auction"},
    {"verify-outcome", NULL, cd_cmd_verify_outcome, "check the outcome of a sealed auction"},
};

int main(int argc, char **argv)
{
    static const cd_program program = {
        .name = "candela-adx",
        .purpose = "an ad exchange",
        .examples = "  candela-adx exchange --config=adx.json --port=8080\n"
                    "  candela-adx miner start --wallet=0x… --cache-size=10GB --exchange=https://ads.example\n"
                    "  candela-adx daemon --node-id=home --wallet=0x… --config=adx.json\n"
                    "  candela-adx ledger --data-dir=DIR\n"
                    "  candela-adx seal-bid --bidder=dsp-alpha --value=2500000\n"
                    "  candela-adx verify-outcome outcome.json\n",
        .commands = commands,
        .command_cnt = CD_COUNT(commands),
        .bare_status = 1,
    };
    return cd_program_main(&program, argc, argv);
}
