cd_vector_test(curves DEPS crypto codec SYSTEM OpenSSL::Crypto)
cd_vector_test(bls DEPS crypto codec)
cd_vector_test(kzg DEPS crypto codec)
