# The public suites that candela-evmtool runs itself; slow files have the label "full" too.

# evm_suite(NAME COMMAND FOLDER [ARGS ...]): one ctest entry over a folder of the conformance data.
function(evm_suite name command folder)
  cmake_parse_arguments(A "" "" "ARGS;LABELS" ${ARGN})
  if(EXISTS ${CD_TESTDATA}/${folder})
    add_test(NAME vector/${name}
             COMMAND candela-evmtool ${command} ${A_ARGS} ${CD_TESTDATA}/${folder})
  elseif(DEFINED ENV{CI})
    message(FATAL_ERROR "conformance data is missing: ${CD_TESTDATA}/${folder}")
  else()
    add_test(NAME vector/${name} COMMAND ${CMAKE_COMMAND} -E echo "SKIP ${folder} is missing")
  endif()
  set_tests_properties(vector/${name} PROPERTIES LABELS "state;${A_LABELS}" TIMEOUT 1800)
endfunction()

set(slow_list --skip-list ${CD_TESTDATA}/ethereum-state/slow.txt)
evm_suite(state_general statetest ethereum-state/general ARGS ${slow_list})
evm_suite(state_forks statetest ethereum-state/forks ARGS ${slow_list})
evm_suite(state_eest statetest ethereum-state/eest ARGS ${slow_list})
evm_suite(state_general_direct statetest ethereum-state/general ARGS --tier direct ${slow_list})
evm_suite(state_general_cells statetest ethereum-state/general ARGS --tier cells ${slow_list})
evm_suite(blocktests blocktest ethereum-blockchain)

# Prague, for which the conformance data has no state tests: random cases around EIP-7702 and EIP-7623
# with the roots and logs that go-ethereum and revm agree on (bench/peers).
add_test(NAME vector/state_prague
         COMMAND candela-evmtool statetest ${PROJECT_SOURCE_DIR}/tests/vectors/prague_state.json)
set_tests_properties(vector/state_prague PROPERTIES LABELS state TIMEOUT 120)

if(EXISTS ${CD_TESTDATA}/ethereum-state/slow.txt)
  file(STRINGS ${CD_TESTDATA}/ethereum-state/slow.txt slow_files)
  foreach(file IN LISTS slow_files)
    get_filename_component(stem ${file} NAME_WE)
    evm_suite(state_slow_${stem} statetest ethereum-state/${file} LABELS full)
  endforeach()
endif()

cd_vector_test(basic DEPS lab)
cd_vector_test(ethchain DEPS lab)
cd_vector_test(t8n DEPS lab)
