cd_vector_test(freq DEPS codec services_adx)
