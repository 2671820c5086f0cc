cd_vector_test(proposer DEPS consensus)
cd_vector_test(snow DEPS consensus)
