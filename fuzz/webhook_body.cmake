cd_fuzz(webhook_body DEPS services_webhook)
