/* apps/adx/commands.h - the commands of candela-adx. argv[0] is the command's name. */
#ifndef CD_APPS_ADX_COMMANDS_H
#define CD_APPS_ADX_COMMANDS_H

int cd_cmd_exchange(int argc, char **argv);
int cd_cmd_miner(int argc, char **argv);
int cd_cmd_daemon(int argc, char **argv);
int cd_cmd_ledger(int argc, char **argv);
int cd_cmd_seal_bid(int argc, char **argv);
int cd_cmd_verify_outcome(int argc, char **argv);

#endif
