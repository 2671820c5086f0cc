#include "services/webhook/core/store/store_priv.h"

/* delivery has what changes while it is on its way, event what was frozen when it matched: settling writes little. Of
 * the three indices of delivery one grows at its end alone (blocks rise), and two hold only what waits or went wrong; a
 * webhook's rows are found through prev, beginning at its queue's tail or at a mark. */
static const char first[] =
    "CREATE TABLE counter (name TEXT PRIMARY KEY, next BIGINT NOT NULL);"
    "INSERT INTO counter (name, next) VALUES ('delivery', 1), ('texts', 0), ('rows', 0),"
    "  ('hooks', 0);"
    "CREATE TABLE worker (key @id, name TEXT NOT NULL UNIQUE, is_alive BIGINT NOT NULL);"
    "CREATE TABLE setting (project TEXT NOT NULL, name TEXT NOT NULL, value @blob NOT NULL,"
    "  PRIMARY KEY (project, name));"

    "CREATE TABLE project (key @id, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, tier TEXT NOT "
    "NULL,"
    "  email TEXT NOT NULL, face BIGINT NOT NULL, quota_period BIGINT NOT NULL, quota BIGINT NOT "
    "NULL,"
    "  created BIGINT NOT NULL);"
    "CREATE TABLE api_key (id TEXT PRIMARY KEY, project BIGINT NOT NULL, label TEXT NOT NULL,"
    "  last4 TEXT NOT NULL, may_write BIGINT NOT NULL, hash @blob NOT NULL UNIQUE, created BIGINT "
    "NOT NULL,"
    "  expires BIGINT NOT NULL, revoked BIGINT NOT NULL, used BIGINT NOT NULL);"
    "CREATE INDEX api_key_project ON api_key (project);"
    "CREATE TABLE usage (project BIGINT NOT NULL, day BIGINT NOT NULL, n BIGINT NOT NULL,"
    "  PRIMARY KEY (project, day));"

    "CREATE TABLE hook (key @id, id TEXT NOT NULL UNIQUE, project BIGINT NOT NULL, face BIGINT NOT "
    "NULL,"
    "  name TEXT NOT NULL, url TEXT NOT NULL, chain TEXT NOT NULL, network TEXT NOT NULL,"
    "  types BIGINT NOT NULL, config @blob NOT NULL, settings @blob NOT NULL, secret @blob NOT "
    "NULL,"
    "  secret_next @blob NOT NULL, grace_until BIGINT NOT NULL, created BIGINT NOT NULL,"
    "  updated BIGINT NOT NULL, from_block BIGINT NOT NULL, concurrency BIGINT NOT NULL,"
    "  filter @blob NOT NULL, deleted BIGINT NOT NULL, version BIGINT NOT NULL);"
    "CREATE UNIQUE INDEX hook_version ON hook (version);"
    "CREATE INDEX hook_project ON hook (project, key);"
    "CREATE TABLE hook_addresses (hook BIGINT NOT NULL, chunk BIGINT NOT NULL, data @blob NOT NULL,"
    "  PRIMARY KEY (hook, chunk));"
    "CREATE TABLE lane (hook @id, project BIGINT NOT NULL, status BIGINT NOT NULL,"
    "  is_strict BIGINT NOT NULL, seq BIGINT NOT NULL, chain_hash @blob NOT NULL, tail BIGINT NOT "
    "NULL,"
    "  in_hand BIGINT NOT NULL, is_behind BIGINT NOT NULL, due BIGINT, failures BIGINT NOT NULL,"
    "  last_ms BIGINT NOT NULL);"
    "CREATE INDEX lane_due ON lane (due) WHERE due IS NOT NULL;"
    "CREATE INDEX lane_still ON lane (status) WHERE status > 0;"

    "CREATE TABLE delivery (key @id, hook BIGINT NOT NULL, seq BIGINT NOT NULL, block BIGINT NOT "
    "NULL,"
    "  state BIGINT NOT NULL, attempts BIGINT NOT NULL, created BIGINT NOT NULL, next BIGINT NOT "
    "NULL,"
    "  due BIGINT, delivered BIGINT NOT NULL, worker BIGINT NOT NULL, kind BIGINT NOT NULL,"
    "  prev BIGINT NOT NULL);"
    "CREATE INDEX delivery_block ON delivery (block, hook) WHERE block > 0;"
    "CREATE INDEX delivery_due ON delivery (hook, due, key) WHERE due IS NOT NULL;"
    "CREATE INDEX delivery_odd ON delivery (hook, key) WHERE state >= 3;"
    "CREATE TABLE mark (hook BIGINT NOT NULL, key BIGINT NOT NULL, PRIMARY KEY (hook, key)) "
    "@norowid;"
    "CREATE TABLE event (key @id, h @blob NOT NULL, chain_hash @blob NOT NULL, id TEXT NOT NULL,"
    "  type BIGINT NOT NULL, time BIGINT NOT NULL, body @blob NOT NULL);"
    "CREATE TABLE attempt (key @id, at BIGINT NOT NULL, ms BIGINT NOT NULL, dns BIGINT NOT NULL,"
    "  connect BIGINT NOT NULL, tls BIGINT NOT NULL, ttfb BIGINT NOT NULL, status BIGINT NOT NULL,"
    "  error TEXT NOT NULL, request TEXT NOT NULL, response TEXT NOT NULL, body @blob NOT NULL);"
    "CREATE TABLE seen (h @blob PRIMARY KEY, at BIGINT NOT NULL) @norowid;"
    "CREATE INDEX seen_at ON seen (at);"
    "CREATE TABLE cursor (chain TEXT PRIMARY KEY, height BIGINT NOT NULL, hash @blob NOT NULL);"
    "CREATE TABLE stat (hook BIGINT NOT NULL, hour BIGINT NOT NULL, what BIGINT NOT NULL,"
    "  n BIGINT NOT NULL, PRIMARY KEY (hook, hour, what)) @norowid;"
    "CREATE INDEX stat_hour ON stat (hour);"

    "CREATE TABLE kept (project TEXT NOT NULL, key @blob NOT NULL, request @blob NOT NULL,"
    "  status BIGINT NOT NULL, body @blob NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (project, "
    "key));"
    "CREATE TABLE audit (key @id, at BIGINT NOT NULL, project TEXT NOT NULL, actor TEXT NOT NULL,"
    "  action TEXT NOT NULL, target TEXT NOT NULL, address TEXT NOT NULL);"
    "CREATE INDEX audit_project ON audit (project, key);"
    "CREATE TABLE mail (key @id, recipient TEXT NOT NULL, subject TEXT NOT NULL, body TEXT NOT "
    "NULL,"
    "  once TEXT NOT NULL, attempts BIGINT NOT NULL, next BIGINT, created BIGINT NOT NULL);"
    "CREATE UNIQUE INDEX mail_once ON mail (once) WHERE once <> '';"
    "CREATE INDEX mail_next ON mail (next) WHERE next IS NOT NULL;"
    "CREATE TABLE token (chain TEXT NOT NULL, address @blob NOT NULL, symbol TEXT, name TEXT,"
    "  decimals BIGINT NOT NULL, PRIMARY KEY (chain, address));";

/* The last blocks that were written, so that one which was replaced is found: by number modulo 256. */
static const char second[] =
    "CREATE TABLE chain_block (chain TEXT NOT NULL, slot BIGINT NOT NULL, height BIGINT NOT NULL, hash @blob NOT NULL,"
    "  PRIMARY KEY (chain, slot));";

/* What was called a lane is a queue. */
static const char third[] = "ALTER TABLE lane RENAME TO queue;"
                            "DROP INDEX lane_due;"
                            "DROP INDEX lane_still;"
                            "CREATE INDEX queue_due ON queue (due) WHERE due IS NOT NULL;"
                            "CREATE INDEX queue_still ON queue (status) WHERE status > 0;";

const char *const cd__wh_schema[] = {first, second, third};
const usize cd__wh_schema_cnt = CD_COUNT(cd__wh_schema);
