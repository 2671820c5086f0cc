cd_vector_test(adx_openrtb DEPS services_adx)
