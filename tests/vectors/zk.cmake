cd_vector_test(zk DEPS codec crypto)
cd_vector_test(hpke DEPS codec crypto)
cd_vector_test(voprf DEPS codec crypto)

# The same proofs through the Rust crate, both ways.
add_executable(rangeproof_maker ${PROJECT_SOURCE_DIR}/tests/differential/rangeproof_maker.c)
set_target_properties(rangeproof_maker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(rangeproof_maker PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_link_options(rangeproof_maker PRIVATE ${CD_LDFLAGS})
target_link_libraries(rangeproof_maker PRIVATE cd_crypto)
add_test(NAME differential/rangeproofs
         COMMAND ${PROJECT_SOURCE_DIR}/tests/differential/rangeproofs.py --ours $<TARGET_FILE:rangeproof_maker>)
set_tests_properties(differential/rangeproofs PROPERTIES LABELS "vector;full" TIMEOUT 1200)
