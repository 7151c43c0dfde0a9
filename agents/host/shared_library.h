// A library of the system that is there on some machines only, loaded while the program runs.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace fabric::host {

class SharedLibrary {
 public:
  // `name` as dlopen() takes it. NOT_FOUND with the linker's words: it is not there, or something
  // that it needs is not.
  static Result<SharedLibrary> Load(const std::string& name);

  // False, and nullptr, when the library has no such function. The caller vouches for its type.
  template <class Function>
  bool Find(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(Find(symbol));
    return function != nullptr;
  }

 private:
  struct Close {
    void operator()(void* handle) const;
  };

  void* Find(const char* symbol) const;

  std::unique_ptr<void, Close> handle_;
};

}  // namespace fabric::host
