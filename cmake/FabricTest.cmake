# Prefix of the command of tests that write many files.
set(FABRIC_IN_MEMORY ${CMAKE_SOURCE_DIR}/tests/in_memory)

# fabric_test(<name> [NO_PCH] [THREADS] SOURCES <file>... LIBRARIES <target>...)
#
# One test program of GoogleTest cases, run by ctest under its own name with label "unit". Tests
# find the repository in the macro-free constant fabric::testing::kSourceDir (tests/testing/paths.h).
# NO_PCH is for tests whose libraries bring compiler flags (gRPC's -pthread) that the shared
# precompiled header was not made with.
# THREADS is for tests of threads and queues: they also have the label "threads", and the target
# thread_tests builds them. .ci/run runs them with the thread sanitizer.
function(fabric_test name)
  cmake_parse_arguments(ARG "NO_PCH;THREADS" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} fabric_testing GTest::gmock GTest::gtest_main)
  if(FABRIC_PCH AND NOT ARG_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM fabric_test_pch)
  endif()
  add_test(NAME ${name} COMMAND ${FABRIC_IN_MEMORY} $<TARGET_FILE:${name}>)
  set(timeout_s 900)
  if(FABRIC_SANITIZE)  # rules_test is ten times slower.
    set(timeout_s 2700)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT ${timeout_s})
  if(ARG_THREADS)
    set_tests_properties(${name} PROPERTIES LABELS "unit;threads")
    if(NOT TARGET thread_tests)
      add_custom_target(thread_tests)
    endif()
    add_dependencies(thread_tests ${name})
  endif()
endfunction()
