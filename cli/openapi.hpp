#pragma once

#include <nlohmann/json_fwd.hpp>

namespace lifeguard {

/// What `lifeguard serve --robots` answers to, as OpenAPI 3.1 describes it.
nlohmann::ordered_json openapi_description();

}  // namespace lifeguard
