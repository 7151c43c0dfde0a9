// Optional shared library, loaded at run time.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>

#include "base/status.h"

namespace fabric::host {

class SharedLibrary {
 public:
  // `name` as for dlopen(). NOT_FOUND with the linker's message.
  static Result<SharedLibrary> Load(const std::string& name) { return Load(name, 0); }
  // The library stays loaded after destruction.
  static Result<SharedLibrary> LoadForGood(const std::string& name) {
    return Load(name, RTLD_NODELETE);
  }

  // False when the library lacks the function. The caller is responsible for its type.
  template <class Function>
  bool Find(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(::dlsym(handle_.get(), symbol));
    return function != nullptr;
  }

 private:
  struct Close {
    void operator()(void* handle) const { ::dlclose(handle); }
  };

  static Result<SharedLibrary> Load(const std::string& name, int flags) {
    SharedLibrary library;
    library.handle_.reset(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags));
    if (library.handle_ != nullptr) return library;
    const char* const why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): per thread in glibc
    return Status(Code::kNotFound, why == nullptr ? name : why);
  }

  std::unique_ptr<void, Close> handle_;
};

}  // namespace fabric::host
