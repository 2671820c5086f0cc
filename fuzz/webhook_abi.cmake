cd_fuzz(webhook_abi DEPS services_webhook)
