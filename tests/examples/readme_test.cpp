#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace lifeguard::readme_test {

std::string text_of(const std::string& path) {
  std::ifstream file(LIFEGUARD_SOURCE_DIR "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Readme, ShowsTheExampleThatTheTestsRun) {
  const std::string readme = text_of("README.md");
  const std::string fence = "```cpp\n";
  const std::size_t begin = readme.find(fence) + fence.size();
  const std::string example = readme.substr(begin, readme.find("```", begin) - begin);
  ASSERT_GT(example.size(), 100u);
  EXPECT_NE(text_of("examples/safe_lifelong.cpp").find(example), std::string::npos);
}

}  // namespace lifeguard::readme_test
