cd_fuzz(freq DEPS services_adx)
