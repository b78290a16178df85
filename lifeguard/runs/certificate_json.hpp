#pragma once

#include <nlohmann/json_fwd.hpp>

#include "lifeguard/runs/run_file.hpp"
#include "lifeguard/safety/prove/certificate.hpp"

namespace lifeguard {

StoredCertificate stored_certificate(long round, const Certificate& certificate);

/// A certificate as JSON and back, to the bit; infinite margins are null.
nlohmann::json certificate_to_json(const Certificate& certificate);
Certificate certificate_from_json(const nlohmann::json& json);

}  // namespace lifeguard
