# lifeguard_docstrings(TARGET) gives the Python bindings header_texts.hpp: what the comments of the
# headers say, for the docstrings. Made when the project is configured, and again when a header or the
# script has changed.
function(lifeguard_docstrings target)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lifeguard/*.hpp)
  set(script ${PROJECT_SOURCE_DIR}/python/docstrings.py)
  set(folder ${PROJECT_BINARY_DIR}/docstrings)
  execute_process(COMMAND ${Python_EXECUTABLE} ${script} ${folder}/header_texts.hpp ${headers}
                          COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script} ${headers})
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
