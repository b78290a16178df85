#include "cli/text_output.hpp"

#include "cli/output.hpp"
#include "lifeguard/runs/output_file.hpp"

namespace lifeguard {

void write_text(const std::string& text, const std::string& file) {
  if (file.empty()) {
    write_output(text);
  } else {
    write_file(file, text);
  }
}

}  // namespace lifeguard
