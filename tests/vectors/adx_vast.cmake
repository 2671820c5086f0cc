cd_vector_test(adx_vast DEPS services_adx)
