# Every source of the repository in a few large translation units, for clang-tidy alone (script/tidy).
# Most of its time goes into the headers of others, Eigen's above all, which each unit reads once.
find_package(benchmark REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(rapidcheck REQUIRED)

set(unit_sources "")

# lifeguard_tidy_unit(NAME FILE...) makes one translation unit of these files.
function(lifeguard_tidy_unit name)
  set(text "")
  foreach(file ${ARGN})
    get_filename_component(program ${file} NAME_WE)
    string(APPEND text "#define main main_of_${program}\n"
                       "#define LLVMFuzzerTestOneInput fuzz_of_${program}\n"
                       "#include \"${file}\"\n#undef main\n#undef LLVMFuzzerTestOneInput\n")
  endforeach()
  set(unit ${PROJECT_BINARY_DIR}/tidy_units/${name}.cxx)
  file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
  list(APPEND unit_sources ${unit})
  set(unit_sources ${unit_sources} PARENT_SCOPE)
endfunction()

# These want a translation unit of their own: compiled once for each SIMD target, or headers of
# macros that others do not survive.
set(alone lifeguard/trajectories/kernel.cpp lifeguard/trajectories/custom_kernel.cpp
          lifeguard/base_learners/adjoint_kernel.cpp lifeguard/base_learners/batch_kernels.cpp
          lifeguard/base_learners/lane_algebra.cpp lifeguard/safety/solve/csdp.cpp cli/serve.cpp
          examples/own_command.cpp bench/own_systems.cpp tests/support/fast_pendulum.cpp
          tests/support/own_cart_pole.cpp tests/support/own_faulty.cpp
          python/bindings/batch_kernel.cpp)
list(TRANSFORM alone PREPEND ${PROJECT_SOURCE_DIR}/)

# lifeguard_tidy_units(NAME SIZE PATTERN...) makes units of SIZE files each of those that match.
function(lifeguard_tidy_units name size)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  list(REMOVE_ITEM files ${alone})
  list(LENGTH files count)
  set(number 0)
  while(count GREATER 0)
    list(SUBLIST files 0 ${size} batch)
    lifeguard_tidy_unit(${name}_${number} ${batch})
    list(REMOVE_ITEM files ${batch})
    list(LENGTH files count)
    math(EXPR number "${number} + 1")
  endwhile()
  set(unit_sources ${unit_sources} PARENT_SCOPE)
endfunction()

lifeguard_tidy_units(learner 24 lifeguard/core/*.cpp lifeguard/policy/*.cpp
                     lifeguard/base_learners/*.cpp lifeguard/safety/*/*.cpp lifeguard/lifelong/*.cpp)
lifeguard_tidy_units(simulation 40 lifeguard/systems/*.cpp lifeguard/regret/*.cpp
                     lifeguard/trajectories/*.cpp)
lifeguard_tidy_units(runs 20 lifeguard/runs/*.cpp lifeguard/report/*.cpp lifeguard/paper/*.cpp)
lifeguard_tidy_units(command 40 cli/*.cpp)
lifeguard_tidy_units(tests 20 tests/*/*_test.cpp tests/support/*.cpp)
lifeguard_tidy_units(programs 40 examples/*.cpp bench/*.cpp fuzz/*.cpp)
lifeguard_tidy_units(python 40 python/bindings/*.cpp)
foreach(file ${alone})
  get_filename_component(name ${file} NAME_WE)
  lifeguard_tidy_unit(${name} ${file})
endforeach()
# Projects of their own, each with a main.cpp.
foreach(consumer learner equations everything)
  lifeguard_tidy_unit(consumer_${consumer} ${PROJECT_SOURCE_DIR}/tests/consumer/${consumer}/main.cpp)
endforeach()

add_library(lifeguard_tidy_units OBJECT EXCLUDE_FROM_ALL ${unit_sources})
set_target_properties(lifeguard_tidy_units PROPERTIES UNITY_BUILD OFF)
target_include_directories(
  lifeguard_tidy_units PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/python
                               ${PROJECT_SOURCE_DIR}/tests/consumer/equations)
include(${PROJECT_SOURCE_DIR}/cmake/Docstrings.cmake)
lifeguard_docstrings(lifeguard_tidy_units)
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python_EXECUTABLE} -m nanobind --include_dir
  OUTPUT_VARIABLE nanobind_headers
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
target_include_directories(lifeguard_tidy_units SYSTEM PRIVATE
                           ${CSDP_INCLUDE_DIR} ${nanobind_headers} ${Python_INCLUDE_DIRS})
target_link_libraries(
  lifeguard_tidy_units
  PRIVATE lifeguard::lifeguard fmt::fmt hwy::hwy TBB::tbb Random123::Random123 Boost::headers
          XxHash::XxHash tomlplusplus::tomlplusplus nlohmann_json::nlohmann_json SQLiteCpp
          CLI11::CLI11 PkgConfig::HTTPLIB benchmark::benchmark rapidcheck GTest::gmock GTest::gtest)
target_compile_definitions(lifeguard_tidy_units
                           PRIVATE LIFEGUARD_SOURCE_DIR="${PROJECT_SOURCE_DIR}" HWY_COMPILE_ONLY_STATIC)
lifeguard_enable_warnings(lifeguard_tidy_units)
