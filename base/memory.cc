#include "base/memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace fabric {
namespace {

// Called for the program and each of its libraries. Read-only segments are equal to the file, so
// the kernel can drop their pages. Pages that relocation has changed are in writable segments.
int ReleaseConstants(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t begin = (start + page - 1) / page * page;
    const std::uintptr_t end = (start + segment.p_memsz) / page * page;
    // EINVAL for memory that is locked, which stays.
    if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void ShareOneHeap() {
  ::mallopt(M_ARENA_MAX, 1);
}

void ReleaseStartMemory() {
  ::malloc_trim(0);
  ::dl_iterate_phdr(ReleaseConstants, nullptr);
}

}  // namespace fabric
