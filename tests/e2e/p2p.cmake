# A node of ours and peers of the original (a Go module), both ways over loopback.
add_executable(p2p_endpoint ${CMAKE_CURRENT_LIST_DIR}/p2p/endpoint.c)
set_target_properties(p2p_endpoint PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(p2p_endpoint PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_link_options(p2p_endpoint PRIVATE ${CD_LDFLAGS})
target_link_libraries(p2p_endpoint PRIVATE cd_p2p)
add_test(NAME e2e/p2p-interop COMMAND ${CMAKE_CURRENT_LIST_DIR}/p2p/interop.py --endpoint $<TARGET_FILE:p2p_endpoint>)
set_tests_properties(e2e/p2p-interop PROPERTIES LABELS e2e TIMEOUT 1800)
