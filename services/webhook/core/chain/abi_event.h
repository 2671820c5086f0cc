/* services/webhook/core/chain/abi_event.h - logs by the events that their contract declares.
 *
 *   "event Swap(address indexed who, uint256 amount)" ─► compiled: topic, topics, text ─► find ─► {name, args}
 *
 * Descriptions are written as Solidity and ethers write them, without `anonymous`; types are canonical, members of
 * tuples have no names. What is compiled is bytes that are copied, compared and kept as they are. Of an indexed
 * argument that is no single word the chain has its hash only, which stands in its place. Threading: pure.
 * [spec:webhooks#11] */
#ifndef CD_WEBHOOK_CORE_ABI_EVENT_H
#define CD_WEBHOOK_CORE_ABI_EVENT_H

#include "base/mem/arena.h"
#include "codec/json.h"
#include "services/webhook/core/chain/facts.h"

enum { CD_WH_ABI_TEXT_MAX = 1000, CD_WH_ABI_ARGS_MAX = 32, CD_WH_ABI_EVENTS_MAX = 32 };

/* cd_wh_abi_compile appends the compiled description. Errors: CD_EFORMAT, CD_ELIMIT, CD_EDEPTH, with words for whoever
 * wrote it. */
cd_err cd_wh_abi_compile(cd_buf *out, cd_bytes text, cd_errinfo *why) CD_CHECK;

/* cd_wh_abi_settings compiles what the settings of a webhook have under "abi"; empty without. */
void cd_wh_abi_settings(cd_buf *out, cd_bytes settings);

/* cd_wh_abi_find gives the description of the event that a log is, of compiled ones; NULL: none fits. */
const char *cd_wh_abi_find(cd_bytes compiled, const cd_wh_log *log);

/* cd_wh_abi_put writes {"name","args"} of a log of this event; null for NULL, and for data that is not the event's. */
void cd_wh_abi_put(cd_json_w *w, const char *event, const cd_wh_log *log);

#endif
