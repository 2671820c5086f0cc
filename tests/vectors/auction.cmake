cd_vector_test(auction DEPS codec services_adx)

# A thousand outcomes with every field changed.
add_executable(auction_tamper ${CMAKE_CURRENT_LIST_DIR}/auction_tamper.c)
set_target_properties(auction_tamper PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(auction_tamper PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_link_options(auction_tamper PRIVATE ${CD_LDFLAGS})
target_link_libraries(auction_tamper PRIVATE cd_services_adx)
add_test(NAME vector/auction-tamper COMMAND auction_tamper 1000)
set_tests_properties(vector/auction-tamper PROPERTIES LABELS vector TIMEOUT 1200)
