/* apps/adx/options.h - options of the exchange and of the miner, which the daemon has both of, and what they make of a
 * configuration. */
#ifndef CD_APPS_ADX_OPTIONS_H
#define CD_APPS_ADX_OPTIONS_H

#include "services/adx/exchange/exchange.h"
#include "services/adx/miner/home.h"
#include "services/common/service.h"

// clang-format off
#define ADX_COMMON_OPTIONS(X)                                                                                        \
    X(OPT_BIND, .name = "bind", .type = CD_ARG_STR, .meta = "ADDR", .group = "Service",                              \
      .help = "the address to listen at; every one when not given")                                                  \
    X(OPT_DATA_DIR, .name = "data-dir", .type = CD_ARG_PATH, .dflt = "$HOME/.candela/adx", .meta = "DIR",            \
      .help = "where books, keys and the cache lie")

#define ADX_EXCHANGE_OPTIONS(X)                                                                                      \
    X(OPT_PORT, .name = "port", .type = CD_ARG_U64, .dflt = "8080", .max = 65535, .meta = "PORT",                    \
      .group = "Service", .help = "where the exchange listens; 0 for any free port")                                  \
    X(OPT_PUBLIC_URL, .name = "public-url", .type = CD_ARG_STR, .meta = "URL",                                       \
      .help = "where players reach it, for beacons; http://127.0.0.1:PORT when not given")                           \
    X(OPT_CONFIG, .name = "config", .type = CD_ARG_PATH, .meta = "FILE",                                             \
      .help = "bidders, campaigns, slots and rates; read again on SIGHUP")                                           \
    X(OPT_DB, .name = "db", .type = CD_ARG_STR, .meta = "URL",                                                       \
      .help = "of the ledger: sqlite:PATH or postgresql://…; a file in the data directory when not given")           \
    X(OPT_ADMIN, .name = "admin-token", .type = CD_ARG_STR, .meta = "TOKEN",                                         \
      .help = "for /rtb/explain; without one, clients on this machine may")                                          \
    X(OPT_FLOOR, .name = "floor-cpm", .type = CD_ARG_STR, .dflt = "0.50", .meta = "USD", .group = "Auctions",        \
      .help = "the least price of a thousand impressions")                                                           \
    X(OPT_TIMEOUT, .name = "auction-timeout", .type = CD_ARG_DURATION, .dflt = "100ms", .min = CD_NS_PER_MS,         \
      .max = 10 * CD_NS_PER_SEC, .meta = "TIME", .help = "for bidders to answer, where a request gives no less")     \
    X(OPT_AT, .name = "at", .type = CD_ARG_U64, .dflt = "2", .min = 1, .max = 2, .meta = "1|2",                      \
      .help = "first or second price, where a request does not say")                                                 \
    X(OPT_LIFE, .name = "token-life", .type = CD_ARG_DURATION, .dflt = "1h", .min = CD_NS_PER_SEC,                   \
      .max = 3600 * CD_NS_PER_SEC, .meta = "TIME", .help = "how long a beacon counts, unless the request says")      \
    X(OPT_WINDOW, .name = "freq-window", .type = CD_ARG_DURATION, .dflt = "24h", .min = CD_NS_PER_SEC,               \
      .max = 366ull * 86400 * CD_NS_PER_SEC, .meta = "TIME", .help = "what frequency caps are counted in")           \
    X(OPT_SHARED, .name = "shared-caps", .type = CD_ARG_STR, .meta = "redis://HOST:PORT",                            \
      .help = "count them together with other exchanges, in Valkey or Redis")                                        \
    X(OPT_RATE, .name = "client-rate", .type = CD_ARG_U64, .dflt = "200", .max = 1000000, .meta = "N",               \
      .help = "requests a second of one address to sealed auctions and tokens; 0 for any number")                    \
    X(OPT_PROOF_FEE, .name = "proof-fee", .type = CD_ARG_U64, .dflt = "1000", .max = 1000000000, .meta = "N",        \
      .group = "Miners", .help = "millionths of a USD for a proof that a miner has verified")                        \
    X(OPT_PERIOD, .name = "reward-period", .type = CD_ARG_DURATION, .dflt = "24h", .min = CD_NS_PER_SEC,             \
      .max = 366ull * 86400 * CD_NS_PER_SEC, .meta = "TIME", .help = "what miners are credited for, since 1970")

#define ADX_MINER_OPTIONS(X, port_name, port_default)                                                                \
    X(OPT_MINER_PORT, .name = port_name, .type = CD_ARG_U64, .dflt = port_default, .max = 65535, .meta = "PORT",     \
      .group = "Miner", .help = "where the miner listens; 0 for any free port")                                      \
    X(OPT_WALLET, .name = "wallet", .type = CD_ARG_STR, .meta = "ADDR", .help = "where rewards go: 0x and 40 digits") \
    X(OPT_CACHE, .name = "cache-size", .type = CD_ARG_STR, .dflt = "10GB", .meta = "SIZE",                           \
      .help = "of media on the disk: 10GB, 512MB; powers of 1024")                                                   \
    X(OPT_EXCHANGE, .name = "exchange", .type = CD_ARG_STR, .meta = "URL",                                           \
      .help = "whom to work for; http://127.0.0.1:8080 when not given")                                              \
    X(OPT_TUNNEL, .name = "tunnel", .type = CD_ARG_STR, .dflt = "none",                                              \
      .choices = "localxpose|ngrok|cloudflare|tailscale|direct|none", .meta = "PROVIDER", .group = "Tunnel",         \
      .help = "how players on the Internet reach this machine; its program must be installed")                       \
    X(OPT_TUNNEL_CMD, .name = "tunnel-cmd", .type = CD_ARG_STR, .meta = "CMD",                                       \
      .help = "a command in place of the provider's program; prints the URL, $PORT is the port")                     \
    X(OPT_SUBDOMAIN, .name = "subdomain", .type = CD_ARG_STR, .meta = "NAME", .help = "wanted of the provider")      \
    X(OPT_PUBLIC_IP, .name = "public-ip", .type = CD_ARG_STR, .meta = "ADDR",                                        \
      .help = "of this machine, for --tunnel=direct")                                                                \
    X(OPT_AUTH_TOKEN, .name = "auth-token", .type = CD_ARG_STR, .meta = "TOKEN",                                     \
      .help = "for the provider; better in AUTH_TOKEN, where others do not see it")                                  \
    X(OPT_CF_TOKEN, .name = "cf-token", .type = CD_ARG_STR, .meta = "TOKEN",                                         \
      .help = "of a Cloudflare tunnel; better in CF_TOKEN")
// clang-format on

#endif
