# What the tests of checking certificates look at: a network's checkpoint, set changes and certificates.
add_executable(finality_sample ${CMAKE_CURRENT_LIST_DIR}/finality_sample.c)
set_target_properties(finality_sample PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(finality_sample PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_link_options(finality_sample PRIVATE ${CD_LDFLAGS})
target_link_libraries(finality_sample PRIVATE cd_finality_cert cd_crypto cd_base)
