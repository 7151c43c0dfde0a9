// A directory tree below a fresh temporary directory, removed with the object.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace fabric::testing {

class TempTree {
 public:
  TempTree();
  ~TempTree();
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  // Writes a file with its directories. Content as given: add the newline that the kernel prints.
  TempTree& File(const std::string& path, std::string_view content);
  TempTree& Link(const std::string& path, const std::string& target);
  TempTree& Directory(const std::string& path);

  std::string path() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

}  // namespace fabric::testing
