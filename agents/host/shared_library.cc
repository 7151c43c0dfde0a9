#include "agents/host/shared_library.h"

#include <dlfcn.h>

namespace fabric::host {

void SharedLibrary::Close::operator()(void* handle) const {
  ::dlclose(handle);
}

Result<SharedLibrary> SharedLibrary::Load(const std::string& name) {
  SharedLibrary library;
  library.handle_.reset(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library.handle_ != nullptr) return library;
  const char* const why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): per thread in glibc
  return Status(Code::kNotFound, why == nullptr ? name : why);
}

void* SharedLibrary::Find(const char* symbol) const {
  return ::dlsym(handle_.get(), symbol);
}

}  // namespace fabric::host
