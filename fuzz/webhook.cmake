cd_fuzz(webhook_facts DEPS services_webhook)
