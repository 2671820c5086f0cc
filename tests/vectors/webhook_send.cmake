cd_vector_test(webhook_schedules DEPS services_webhook)
cd_vector_test(webhook_signatures DEPS services_webhook SYSTEM OpenSSL::Crypto)
cd_vector_test(webhook_ssrf DEPS services_webhook)
