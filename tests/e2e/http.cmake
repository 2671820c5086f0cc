# The HTTP server behind a few plain routes, as other people's tools see it: HTTP/2 conformance, TLS.
add_executable(http_echo ${CMAKE_CURRENT_LIST_DIR}/http/echo.c)
set_target_properties(http_echo PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(http_echo PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_link_options(http_echo PRIVATE ${CD_LDFLAGS})
target_link_libraries(http_echo PRIVATE cd_net)
add_test(NAME e2e/http-conformance
         COMMAND ${CMAKE_CURRENT_LIST_DIR}/http/conformance.py --server $<TARGET_FILE:http_echo> --node $<TARGET_FILE:candela>)
set_tests_properties(e2e/http-conformance PROPERTIES LABELS e2e TIMEOUT 1800)
add_test(NAME e2e/tls-scan COMMAND ${CMAKE_CURRENT_LIST_DIR}/http/scan.py --server $<TARGET_FILE:http_echo>)
set_tests_properties(e2e/tls-scan PROPERTIES LABELS "e2e;full" TIMEOUT 1800)
