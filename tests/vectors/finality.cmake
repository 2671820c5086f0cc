cd_vector_test(finality DEPS finality_cert crypto codec)
