/* codec/api_json.h - values in JSON as the node's own services write them: IDs as text, numbers as strings.
 *
 *   put   writes a member of an object, as cd_json_put_… of json.h; key needs no escapes
 *   w     writes a value alone, for lists and for keys that are made
 *
 * Threading: pure. [spec:node-api#2.1] */
#ifndef CD_CODEC_API_JSON_H
#define CD_CODEC_API_JSON_H

#include "codec/encoding.h"
#include "codec/ids.h"
#include "codec/json.h"

/* IDs: CB58; nodes: "NodeID-…"; addresses: "P-lux1…". */
void cd_json_w_id(cd_json_w *w, const cd_hash32 *id);
void cd_json_w_node_id(cd_json_w *w, const cd_node_id *id);
void cd_json_w_chain_addr(cd_json_w *w, const char *chain, const char *prefix, const cd_addr20 *addr);
void cd_json_put_id(cd_json_w *w, const char *key, const cd_hash32 *id);
void cd_json_put_node_id(cd_json_w *w, const char *key, const cd_node_id *id);

/* cd_json_w_id_key writes an ID as a key. */
void cd_json_w_id_key(cd_json_w *w, const cd_hash32 *id);

/* cd_json_put_dec writes a number as a string of digits: "123". */
void cd_json_w_dec(cd_json_w *w, u64 v);
void cd_json_put_dec(cd_json_w *w, const char *key, u64 v);

/* cd_json_put_ratio writes part / whole with four decimals, rounded to the nearest: "0.8000"; scale 100 makes it a
 * percentage. A whole of zero counts as one. */
void cd_json_put_ratio(cd_json_w *w, const char *key, u64 part, u64 whole, u32 scale);

/* cd_json_put_encoded writes bytes in the encoding e, which must not be JSON. */
void cd_json_w_encoded(cd_json_w *w, cd_encoding e, cd_bytes b);
void cd_json_put_encoded(cd_json_w *w, const char *key, cd_encoding e, cd_bytes b);

/* cd_json_put_time writes Unix nanoseconds in RFC 3339, in UTC, with as many decimals as are not zero. */
void cd_json_put_time(cd_json_w *w, const char *key, u64 wall_ns);

#endif
