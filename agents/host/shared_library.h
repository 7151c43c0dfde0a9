// A library of the system that some machines do not have, loaded while the program runs.
#pragma once

#include <dlfcn.h>

#include <memory>
#include <string>

#include "base/status.h"

namespace fabric::host {

class SharedLibrary {
 public:
  // `name` as dlopen() takes it. NOT_FOUND with the linker's words.
  static Result<SharedLibrary> Load(const std::string& name) { return Load(name, 0); }
  // It stays loaded when the object is gone.
  static Result<SharedLibrary> LoadForGood(const std::string& name) {
    return Load(name, RTLD_NODELETE);
  }

  // False when the library has no such function; its type is the caller's word.
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
