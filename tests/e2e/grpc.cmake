# Our gRPC and others': grpc-go and grpcio both ways, h2spec.
add_executable(grpc_endpoint ${CMAKE_CURRENT_LIST_DIR}/grpc/endpoint.c)
set_target_properties(grpc_endpoint PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(grpc_endpoint PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_link_options(grpc_endpoint PRIVATE ${CD_LDFLAGS})
target_link_libraries(grpc_endpoint PRIVATE cd_grpc)
add_test(NAME e2e/grpc-interop
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/grpc/interop.py --endpoint $<TARGET_FILE:grpc_endpoint>)
set_tests_properties(e2e/grpc-interop PROPERTIES LABELS e2e TIMEOUT 1800)
