# Where the time of a round goes: as fast as compilers make it. A precompiled header is for one level
# of optimisation.
set_source_files_properties(
  lifeguard/trajectories/kernel.cpp lifeguard/trajectories/custom_kernel.cpp
  lifeguard/base_learners/adjoint_kernel.cpp lifeguard/base_learners/batch_kernels.cpp
  lifeguard/base_learners/lane_algebra.cpp
  PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>" SKIP_PRECOMPILE_HEADERS ON)

# lifeguard_add_library(NAME FOLDERS ... [FILES ...] PUBLIC ... PRIVATE ...) makes lifeguard_NAME,
# seen by users as lifeguard::NAME, from every .cpp of these folders under lifeguard/ and from single
# files of others.
function(lifeguard_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;FILES;PUBLIC;PRIVATE")
  set(sources ${arg_FILES})
  list(TRANSFORM sources PREPEND lifeguard/)
  foreach(folder ${arg_FOLDERS})
    file(GLOB found CONFIGURE_DEPENDS lifeguard/${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  set(target lifeguard_${name})
  add_library(${target} STATIC ${sources})
  add_library(lifeguard::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(
    ${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                     $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
                     $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  # Contraction into fused multiply-adds depends on the processor a file is compiled for. Without it
  # every SIMD target, and every machine, computes the same bits.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  # What more optimisation adds is mostly compile time: clang takes a third less for -O1 than for -O2, and rounds
  # are a few per cent slower. The kernels, where it matters, ask for -O3 themselves.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:$<IF:$<CXX_COMPILER_ID:GNU>,-O2,-O1>>)
  # These are compiled once for each SIMD target, or include C headers full of macros.
  set_source_files_properties(
    lifeguard/trajectories/kernel.cpp lifeguard/trajectories/custom_kernel.cpp
    lifeguard/base_learners/adjoint_kernel.cpp lifeguard/base_learners/batch_kernels.cpp
    lifeguard/base_learners/lane_algebra.cpp lifeguard/safety/solve/csdp.cpp
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_precompile_headers(${target} PRIVATE <Eigen/Dense> <fmt/format.h>)
  lifeguard_set_unity_batch(${target})
  lifeguard_enable_warnings(${target})
endfunction()
