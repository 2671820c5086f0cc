cd_vector_test(keystore DEPS wallet)
