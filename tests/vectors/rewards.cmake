cd_vector_test(rewards DEPS codec services_adx)
