cd_vector_test(num DEPS num codec)
