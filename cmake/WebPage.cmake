# The page of `lifeguard report`: TypeScript under web/, bundled into one HTML file and compiled into
# the command. The npm packages are those of web/package-lock.json.
find_program(NPM_PROGRAM npm)
find_program(NODE_PROGRAM NAMES node nodejs)
if(NOT NPM_PROGRAM OR NOT NODE_PROGRAM)
  message(FATAL_ERROR "The lifeguard command needs npm and node for its page: install the packages "
                      "nodejs and npm, or build without it (-DLIFEGUARD_BUILD_COMMAND=OFF)")
endif()

set(web ${PROJECT_SOURCE_DIR}/web)
# npm writes this file last.
set(web_packages ${web}/node_modules/.package-lock.json)
add_custom_command(
  OUTPUT ${web_packages}
  COMMAND ${NPM_PROGRAM} ci --no-audit --no-fund --loglevel=error
  COMMAND ${CMAKE_COMMAND} -E touch ${web_packages}
  DEPENDS ${web}/package.json ${web}/package-lock.json
  WORKING_DIRECTORY ${web}
  COMMENT "npm packages of the report's page"
  VERBATIM)

file(GLOB web_sources CONFIGURE_DEPENDS ${web}/src/*)
set(web_page_source ${PROJECT_BINARY_DIR}/generated/page_template.cpp)
add_custom_command(
  OUTPUT ${web_page_source}
  COMMAND ${NODE_PROGRAM} build.mjs ${web_page_source}
  DEPENDS ${web_sources} ${web}/build.mjs ${web_packages}
  WORKING_DIRECTORY ${web}
  COMMENT "The report's page"
  VERBATIM)
