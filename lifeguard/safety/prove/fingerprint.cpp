#include "lifeguard/safety/prove/fingerprint.hpp"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <bit>

namespace lifeguard {

// Elsewhere the bytes would have to be reversed.
static_assert(std::endian::native == std::endian::little);

struct Fingerprint::State {
  XXH3_state_t hash;
};

Fingerprint::Fingerprint() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->hash);
}

Fingerprint::~Fingerprint() = default;

void Fingerprint::add(double value) { add_bytes(&value, sizeof(value)); }

void Fingerprint::add(std::string_view text) {
  add_size(text.size());
  add_bytes(text.data(), text.size());
}

void Fingerprint::add(const Eigen::MatrixXd& matrix) {
  add_size(static_cast<std::uint64_t>(matrix.rows()));
  add_size(static_cast<std::uint64_t>(matrix.cols()));
  add_bytes(matrix.data(), static_cast<std::size_t>(matrix.size()) * sizeof(double));
}

void Fingerprint::add(const Eigen::VectorXd& vector) {
  add_size(static_cast<std::uint64_t>(vector.size()));
  add_bytes(vector.data(), static_cast<std::size_t>(vector.size()) * sizeof(double));
}

std::string Fingerprint::hex() const {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(&state_->hash));
  std::string text;
  for (const unsigned char byte : bytes.digest) text += fmt::format("{:02x}", byte);
  return text;
}

void Fingerprint::add_bytes(const void* data, std::size_t size) {
  if (size > 0) XXH3_128bits_update(&state_->hash, data, size);
}

void Fingerprint::add_size(std::uint64_t size) { add_bytes(&size, sizeof(size)); }

}  // namespace lifeguard
