#include "base/tls/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"

namespace fabric::tls {
namespace {

Result<int> MakeDescriptor(std::string_view content) {
  const int descriptor = memfd_create("fabric-tls", MFD_CLOEXEC);
  if (descriptor < 0) return FromErrno(errno, "memfd_create");
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written < 0) {
      const int error = errno;
      close(descriptor);
      return FromErrno(error, "write to a file in memory");
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return descriptor;
}

}  // namespace

Result<MemoryFile> MemoryFile::Make(std::string_view content) {
  ASSIGN_OR_RETURN(const int descriptor, MakeDescriptor(content));
  return MemoryFile(descriptor);
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

Status MemoryFile::Replace(std::string_view content) {
  ASSIGN_OR_RETURN(const int descriptor, MakeDescriptor(content));
  const int replaced = dup3(descriptor, descriptor_, O_CLOEXEC);
  const int error = errno;
  close(descriptor);
  return replaced < 0 ? FromErrno(error, "replace a file in memory") : Status();
}

std::string MemoryFile::path() const {
  return Format("/dev/fd/{}", descriptor_);
}

}  // namespace fabric::tls
