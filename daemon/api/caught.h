// Boundary of a call, session or turn: an exception fails it and not the process.
#pragma once

#include <exception>
#include <new>

#include "base/status.h"
#include "base/text.h"

namespace fabric::api {

// What `act` returns, or the exception that it throws.
template <class Act>
Status Caught(Act act) {
  try {
    return act();
  } catch (const std::bad_alloc&) {
    return {Code::kResourceExhausted, "the controller is out of memory"};
  } catch (const std::exception& error) {
    return {Code::kInternal, Format("the controller failed: {}", error.what())};
  }
}

}  // namespace fabric::api
