/* Notifications of a project: who gets mails about what, and the second URL that is told of operations. */
#include "services/webhook/api/call.h"
#include "services/webhook/api/mask.h"
#include "services/webhook/api/ops.h"
#include "services/webhook/core/store/notice.h"

#include "net/smtp.h"

enum { EMAIL_MAX = 200 };

/* Switches of mails, under the names that the store has them by; without one they are on. */
static const char *const mails[] = {"mail_paused", "mail_quota", "mail_dead"};

static cd_err answer(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_project p;
    cd_wh_hook ops = {0};
    cd_json_w w = cd__wapi_writer(c);
    CD_TRY(cd_wh_project_get(s, &p, &c->mem, c->account.project.id, why));
    cd_err err = cd_wh_notice_target(s, &ops, &c->mem, p.id, 0, why);
    if (err != CD_OK && err != CD_ENOENT) {
        return err;
    }
    cd_json_w_obj(&w);
    cd_wh_w_str(&w, "email", p.email);
    for (usize i = 0; i < CD_COUNT(mails); i++) {
        cd_bytes word = {0};
        err = cd_wh_setting_get(s, &word, &c->mem, p.id, mails[i], why);
        if (err != CD_OK && err != CD_ENOENT) {
            return err;
        }
        cd_json_w_key(&w, mails[i]);
        cd_json_w_bool(&w, !cd_bytes_eq(word, cd_bytes_str("off")));
    }
    bool masks = ops.url != NULL && !c->account.key.may_write;
    cd__wapi_w_str(&w, CD_WH_C, "ops_url", masks ? cd_wh_mask_url(&c->mem, ops.url) : ops.url);
    cd__wapi_w_str(&w, CD_WH_C, "ops_webhook", ops.id);
    if (c->draft.ops_is == CD_WH_OPS_MADE) {
        cd_json_w_key(&w, "ops_secret");
        cd_json_w_str(&w, ops.secret);
    }
    cd_json_w_obj_end(&w);
    return CD_OK;
}

const cd__wapi_steps cd__wapi_do_NOTICES = {.run = answer};

static cd_err change_prepare(cd__wapi_call *c)
{
    cd_json url = cd_json_get(c->body, "ops_url");
    if (cd_json_kind_of(url) != CD_JSON_NONE && !cd_json_has(url)) {
        c->draft.ops_url = "";
    }
    CD_TRY(cd_wh_read_str(&c->read, &c->draft.ops_url, c->body, "ops_url", CD_WH_URL_MAX, false));
    c->check_ops = c->draft.ops_url;
    c->draft.ops.id = c->face->id(&c->read);
    c->draft.ops.secret = c->face->secret(&c->read);
    return CD_OK;
}

static cd_err change_mails(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    for (usize i = 0; i < CD_COUNT(mails); i++) {
        bool on = true;
        if (cd_json_has(cd_json_get(c->body, mails[i]))) {
            CD_TRY(cd_wh_read_bool(&c->read, &on, c->body, mails[i]));
            CD_TRY(cd_wh_setting_put(s, cd_bytes_str(on ? "on" : "off"), c->account.project.id, mails[i], why));
        }
    }
    return CD_OK;
}

static cd_err change_run(cd__wapi_call *c, cd_wh_store *s, cd_errinfo *why)
{
    cd_wh_project p;
    CD_TRY(cd_wh_project_get(s, &p, &c->mem, c->account.project.id, why));
    const char *email = p.email;
    CD_TRY(cd_wh_read_str(&c->read, &email, c->body, "email", EMAIL_MAX, false));
    if (email != p.email && email[0] != '\0' && !cd_mail_is_address(email)) {
        return cd_wh_bad_shape(&c->read, "value_error", "email", "must be one e-mail address");
    }
    if (email != p.email) {
        p.email = email;
        CD_TRY(cd_wh_project_put(s, &p, why));
    }
    CD_TRY(change_mails(c, s, why));
    if (c->draft.ops_url != NULL) {
        CD_TRY(cd_wh_op_target(s, &c->draft, p.id, p.face, 0, cd__wapi_now_ms(c->api), &c->mem, why));
    }
    return answer(c, s, why);
}

const cd__wapi_steps cd__wapi_do_NOTIFY = {.prepare = change_prepare, .run = change_run};
