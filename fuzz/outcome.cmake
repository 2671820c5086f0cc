cd_fuzz(outcome DEPS services_adx)
