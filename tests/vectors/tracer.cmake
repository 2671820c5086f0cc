cd_vector_test(tracer DEPS lab)
