/* How a receiver verifies what it gets, in the languages that receivers are written in. Body is the bytes as they
 * came. */
#include "services/webhook/pages/visit.h"

/* With a timestamp (B), or of the body alone (A, C). */
static const struct {
    const char *name, *with_time, *plain;
} hints[] = {
    {"Python",
     "import hmac, time\n"
     "from hashlib import sha256\n"
     "\n"
     "def verify(secret, timestamp, body, signature):\n"
     "    signed = timestamp.encode() + b\".\" + body\n"
     "    want = hmac.new(secret.encode(), signed, sha256).hexdigest()\n"
     "    fresh = abs(time.time() - int(timestamp)) <= 300\n"
     "    return fresh and hmac.compare_digest(want, signature)\n",
     "import hmac\n"
     "from hashlib import sha256\n"
     "\n"
     "def verify(secret, body, signature):\n"
     "    want = \"sha256=\" + hmac.new(secret.encode(), body, sha256).hexdigest()\n"
     "    return hmac.compare_digest(want, signature)\n"},
    {"Node.js",
     "const { createHmac, timingSafeEqual } = require(\"node:crypto\");\n"
     "\n"
     "function verify(secret, timestamp, body, signature) {\n"
     "  const want = createHmac(\"sha256\", secret).update(timestamp + "
     "\".\").update(body).digest();\n"
     "  const got = Buffer.from(signature, \"hex\");\n"
     "  const fresh = Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300;\n"
     "  return fresh && got.length === want.length && timingSafeEqual(got, want);\n"
     "}\n",
     "const { createHmac, timingSafeEqual } = require(\"node:crypto\");\n"
     "\n"
     "function verify(secret, body, signature) {\n"
     "  const want = Buffer.from(\"sha256=\" + createHmac(\"sha256\", "
     "secret).update(body).digest(\"hex\"));\n"
     "  const got = Buffer.from(signature);\n"
     "  return got.length === want.length && timingSafeEqual(got, want);\n"
     "}\n"},
    {"Go",
     "func verify(secret, timestamp string, body []byte, signature string) bool {\n"
     "\tmac := hmac.New(sha256.New, []byte(secret))\n"
     "\tmac.Write([]byte(timestamp + \".\"))\n"
     "\tmac.Write(body)\n"
     "\tgot, err := hex.DecodeString(signature)\n"
     "\tat, err2 := strconv.ParseInt(timestamp, 10, 64)\n"
     "\tage := time.Now().Unix() - at\n"
     "\treturn err == nil && err2 == nil && age <= 300 && age >= -300 && hmac.Equal(got, "
     "mac.Sum(nil))\n"
     "}\n",
     "func verify(secret string, body []byte, signature string) bool {\n"
     "\tmac := hmac.New(sha256.New, []byte(secret))\n"
     "\tmac.Write(body)\n"
     "\twant := \"sha256=\" + hex.EncodeToString(mac.Sum(nil))\n"
     "\treturn hmac.Equal([]byte(signature), []byte(want))\n"
     "}\n"},
    {"PHP",
     "function verify($secret, $timestamp, $body, $signature) {\n"
     "    $want = hash_hmac('sha256', $timestamp . '.' . $body, $secret);\n"
     "    return abs(time() - (int)$timestamp) <= 300 && hash_equals($want, $signature);\n"
     "}\n",
     "function verify($secret, $body, $signature) {\n"
     "    return hash_equals('sha256=' . hash_hmac('sha256', $body, $secret), $signature);\n"
     "}\n"},
    {"C",
     "#include \"candela_webhook.h\"\n"
     "\n"
     "bool ok = cd_webhook_verify_b(secret, timestamp, signature, body, body_n, time(NULL)) ==\n"
     "          CD_WEBHOOK_OK;\n",
     "#include \"candela_webhook.h\"\n"
     "\n"
     "bool ok = cd_webhook_verify_c(secret, signature, body, body_n) == CD_WEBHOOK_OK;\n"},
};

void cd__wpage_put_hints(cd__wpage_visit *v, cd_wh_face face)
{
    const char *brand = v->pages->cfg.brand;
    cd_html_put(&v->h, "<p>The signature is in <code class=\"mono\">X-{}-Signature</code>", brand);
    if (face == CD_WH_B) {
        cd_html_put(&v->h, ", the timestamp in <code class=\"mono\">X-{}-Timestamp</code>", brand);
    }
    cd_html_put(&v->h, "; the body is what came, byte for byte, before it is parsed.</p>");
    for (usize i = 0; i < CD_COUNT(hints); i++) {
        if (i == 0) {
            cd_html_put(&v->h, "<details open><summary>{}</summary>", hints[i].name);
        } else {
            cd_html_put(&v->h, "<details><summary>{}</summary>", hints[i].name);
        }
        cd_ui_code(&v->h, cd_bytes_str(face == CD_WH_B ? hints[i].with_time : hints[i].plain), hints[i].name);
        cd_html_put(&v->h, "</details>");
    }
}
