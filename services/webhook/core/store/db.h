/* services/webhook/core/store/db.h - the store of webhooks on threads of its own: what services/common/jobs.h needs to
 * know of it. The jobs that it runs get a cd_wh_store. [spec:webhooks#5] */
#ifndef CD_WEBHOOK_CORE_DB_H
#define CD_WEBHOOK_CORE_DB_H

#include "services/common/jobs.h"
#include "services/webhook/core/store/store.h"

/* cd_wh_db_open opens the store at url (sqlite:PATH, postgresql://…), brings its schema up to date and starts the
 * threads. metrics may be NULL. Errors: CD_EVERSION when a newer program wrote it, CD_EFORMAT for a URL of neither
 * kind, CD_EIO, CD_EACCES, CD_EBUSY. */
cd_err cd_wh_db_open(cd_jobs **out, cd_loop *loop, const cd_wh_store_cfg *cfg, cd_metrics *metrics,
                     cd_errinfo *why) CD_CHECK;

/* cd_wh_db_now runs one job on the calling thread, as cd_jobs_now does. */
cd_err cd_wh_db_now(const cd_wh_store_cfg *cfg, cd_job *job, cd_errinfo *why) CD_CHECK;

#endif
