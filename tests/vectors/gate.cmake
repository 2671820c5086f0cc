# Instruction counts of five workloads against bench/baseline.json, which was taken with gcc -O2.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_test(NAME gate/instructions
           COMMAND ${PROJECT_SOURCE_DIR}/bench/instructions.py
                   --candela $<TARGET_FILE:candela-evmtool>)
  set_tests_properties(gate/instructions PROPERTIES LABELS state TIMEOUT 900
                       ENVIRONMENT "CANDELA_TESTDATA=${CD_TESTDATA}")
endif()
