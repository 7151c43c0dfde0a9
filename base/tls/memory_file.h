// File in memory for libraries that read secrets from a path only. Nothing reaches a disk.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::tls {

class MemoryFile {
 public:
  static Result<MemoryFile> Make(std::string_view content);
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;

  // Replaces the content: who opens path() gets the old or the new one, never a mix.
  Status Replace(std::string_view content);

  // Valid in this process, for the lifetime of the object: "/dev/fd/7".
  std::string path() const;

 private:
  explicit MemoryFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace fabric::tls
