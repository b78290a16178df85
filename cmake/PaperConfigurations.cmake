# The paper's configurations as C++ constants, so that the program carries them with it.
file(GLOB paper_configurations CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/configs/paper/*.toml)
set(entries "")
foreach(path ${paper_configurations})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} text)
  string(APPEND entries "    {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
list(LENGTH paper_configurations count)
file(
  CONFIGURE
  OUTPUT ${PROJECT_BINARY_DIR}/generated/lifeguard/paper/paper_configurations.hpp
  CONTENT
    "#pragma once

#include <array>
#include <string_view>

namespace lifeguard {

struct PaperConfiguration {
  std::string_view name;
  std::string_view text;
};

inline constexpr std::array<PaperConfiguration, ${count}> kPaperConfigurations = {{
${entries}}};

}  // namespace lifeguard
"
  @ONLY)
