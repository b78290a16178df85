#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace lifeguard {

/// The page as web/ builds it: one HTML file without data.
std::string page_template();

/// The page with `data` in it.
std::string page_with(const nlohmann::ordered_json& data);

}  // namespace lifeguard
