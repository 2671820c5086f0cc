#include "services/adx/ledger/clerk.h"

#include "base/mem/mem.h"
#include "base/thread/mbox.h"
#include "base/thread/thread.h"

enum { WAITING_MAX = 16384, GROUP_MAX = 1024 };

struct cd_clerk {
    cd_loop *loop;
    cd_ledger *ledger; /* the thread's */
    cd_mbox *box;      /* cd_clerk_cmd * */
    cd_thread thread;
    bool is_running;
};

static void on_done(cd_loop_task *t)
{
    cd_clerk_cmd *cmd = (cd_clerk_cmd *)(void *)((char *)t - offsetof(cd_clerk_cmd, task));
    cmd->done(cmd);
}

static cd_err run_some(cd_ledger *l, cd_clerk_cmd *const *cmds, usize cnt, cd_errinfo *why)
{
    CD_TRY(cd_ledger_begin(l, why));
    for (usize i = 0; i < cnt; i++) {
        cd_err err = cmds[i]->run(cmds[i], l, why);
        if (err != CD_OK) {
            cd_ledger_rollback(l);
            return err;
        }
    }
    return cd_ledger_commit(l, why);
}

static void run_group(cd_clerk *c, cd_clerk_cmd *const *cmds, usize cnt)
{
    cd_errinfo why = {0};
    cd_err err = run_some(c->ledger, cmds, cnt, &why);
    for (usize i = 0; i < cnt; i++) {
        cmds[i]->why = (cd_errinfo){0};
        cmds[i]->err = err == CD_OK ? CD_OK : run_some(c->ledger, &cmds[i], 1, &cmds[i]->why);
    }
    for (usize i = 0; i < cnt; i++) {
        cmds[i]->task.fn = on_done;
        cd_loop_post(c->loop, &cmds[i]->task);
    }
}

static void work(void *arg)
{
    cd_clerk *c = arg;
    cd_clerk_cmd *group[GROUP_MAX];
    while (cd_mbox_recv(c->box, &group[0], -1) == CD_OK) {
        usize cnt = 1;
        while (cnt < GROUP_MAX && cd_mbox_try_recv(c->box, &group[cnt]) == CD_OK) {
            cnt++;
        }
        run_group(c, group, cnt);
    }
}

cd_err cd_clerk_open(cd_clerk **out, cd_loop *loop, const char *url, cd_errinfo *why)
{
    cd_clerk *c = cd_new(cd_clerk);
    c->loop = loop;
    cd_err err = cd_ledger_open(&c->ledger, url, true, why);
    if (err == CD_OK) {
        c->box = cd_mbox_new(WAITING_MAX, sizeof(cd_clerk_cmd *));
        err = cd_thread_start(&c->thread, "clerk", work, c, why);
        c->is_running = err == CD_OK;
    }
    if (err != CD_OK) {
        cd_clerk_close(c);
        return err;
    }
    *out = c;
    return CD_OK;
}

void cd_clerk_close(cd_clerk *c)
{
    if (c == NULL) {
        return;
    }
    if (c->is_running) {
        cd_mbox_close(c->box);
        cd_thread_join(&c->thread);
    }
    cd_mbox_free(c->box);
    cd_ledger_close(c->ledger);
    cd_free(c);
}

cd_err cd_clerk_post(cd_clerk *c, cd_clerk_cmd *cmd)
{
    return cd_mbox_send(c->box, &cmd);
}
