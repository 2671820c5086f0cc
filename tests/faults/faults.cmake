# A disk that fails, a process that is fed nonsense. The calls to be failed are those of libc: io_faults.c stands before them,
# linked into a program or preloaded into one, so its definitions are visible.
set(io_faults ${CMAKE_CURRENT_LIST_DIR}/io_faults.c)
set_source_files_properties(${io_faults} PROPERTIES COMPILE_OPTIONS "-fvisibility=default;-D_GNU_SOURCE")

add_executable(fault_run ${CMAKE_CURRENT_LIST_DIR}/fault_run.c ${io_faults})
set_target_properties(fault_run PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(fault_run PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_include_directories(fault_run PRIVATE ${PROJECT_SOURCE_DIR})
target_link_options(fault_run PRIVATE ${CD_LDFLAGS})
target_link_libraries(fault_run PRIVATE cd_chains_evmchain ${CMAKE_DL_LIBS})
add_test(NAME e2e/faults COMMAND fault_run ${CMAKE_BINARY_DIR}/test/fault_run.data)

# Preloaded before a sanitizer's library it would not start: the node runs without one here.
add_library(io_faults MODULE ${io_faults})
set_target_properties(io_faults PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(io_faults PRIVATE ${CD_WARNINGS} ${CD_CFLAGS} -fPIC)
target_include_directories(io_faults PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(io_faults PRIVATE ${CMAKE_DL_LIBS})
add_test(NAME e2e/disk COMMAND ${CMAKE_CURRENT_LIST_DIR}/disk.py --bin $<TARGET_FILE:candela> --shim $<TARGET_FILE:io_faults>)

# Somebody at the staking port who knows how to shake hands.
add_executable(hostile_peer ${CMAKE_CURRENT_LIST_DIR}/hostile_peer.c)
set_target_properties(hostile_peer PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
target_compile_options(hostile_peer PRIVATE ${CD_WARNINGS} ${CD_CFLAGS})
target_link_options(hostile_peer PRIVATE ${CD_LDFLAGS})
target_link_libraries(hostile_peer PRIVATE cd_p2p)

add_test(NAME e2e/hostile COMMAND ${CMAKE_CURRENT_LIST_DIR}/hostile.py --bin $<TARGET_FILE:candela>
  --rss-mib $<IF:$<BOOL:${CD_SANITIZE}>,1024,160>)
set_tests_properties(e2e/faults e2e/disk e2e/hostile PROPERTIES LABELS e2e TIMEOUT 14400)

# The whole node under the thread sanitizer; a report makes it end with an error.
if(CD_SANITIZE STREQUAL "thread")
  add_test(NAME tsan/hostile
           COMMAND ${CMAKE_CURRENT_LIST_DIR}/hostile.py --bin $<TARGET_FILE:candela> --seconds 600 --rss-mib 0 --p99 20)
  set_tests_properties(tsan/hostile PROPERTIES LABELS "tsan;full" TIMEOUT 1800
                       ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/tsan.supp")
  add_dependencies(tsan_tests candela hostile_peer)
endif()
