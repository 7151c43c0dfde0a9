#include "tests/testing/temp_tree.h"

#include <cstdlib>
#include <fstream>

namespace fabric::testing {

TempTree::TempTree() {
  std::string pattern = (std::filesystem::temp_directory_path() / "fabric-XXXXXX").string();
  root_ = ::mkdtemp(pattern.data());
}

TempTree::~TempTree() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

TempTree& TempTree::File(const std::string& path, std::string_view content) {
  std::filesystem::create_directories((root_ / path).parent_path());
  std::ofstream(root_ / path, std::ios::binary) << content;
  return *this;
}

TempTree& TempTree::Link(const std::string& path, const std::string& target) {
  std::filesystem::create_directories((root_ / path).parent_path());
  std::filesystem::create_symlink(target, root_ / path);
  return *this;
}

TempTree& TempTree::Directory(const std::string& path) {
  std::filesystem::create_directories(root_ / path);
  return *this;
}

}  // namespace fabric::testing
