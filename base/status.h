// Status and Result<T>: the error type of all functions that can fail.
//
// The codes have the numbers of gRPC, so the API converts them with a cast. Nothing here throws.
// The file that wraps a third-party library catches its exceptions.
#pragma once

#include <cassert>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace fabric {

enum class Code {
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "NOT_FOUND"; the names are gRPC's.
std::string_view CodeName(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same failure with a prefix: the operation of the caller. Success is unchanged.
  Status In(std::string_view what) const {
    if (ok()) return *this;
    Status in(code_, std::string(what) + ": " + message_);
    in.path_ = path_;
    in.reason_at_ = reason_at_ == 0 ? 0 : reason_at_ + what.size() + 2;
    return in;
  }

  // The same failure at a file or another named object: In(), and path() and reason() name it.
  Status At(const std::string& path) const {
    if (ok()) return *this;
    Status at(code_, path + ": " + message_);
    at.path_ = path;
    at.reason_at_ = path.size() + 2;
    return at;
  }
  const std::string& path() const { return path_; }  // Empty without At()
  // The message without the path and everything before it.
  std::string_view reason() const { return std::string_view(message_).substr(reason_at_); }

  friend bool operator==(const Status& a, const Status& b) {
    return a.code_ == b.code_ && a.message_ == b.message_;
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
  std::string path_;
  std::size_t reason_at_ = 0;
};

// Maps an errno to a Status: the code for the caller to act on, the text from the kernel. EINVAL
// means "the driver does not report this", as in the RDMA core.
Status FromErrno(int error, std::string_view what);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}        // NOLINT: implicit by design
  Result(Status status) : state_(std::move(status)) {  // NOLINT: implicit by design
    assert(!std::get<Status>(state_).ok());
  }

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status() : std::get<Status>(state_); }

  const T& operator*() const& {
    assert(ok());
    return std::get<T>(state_);
  }
  T& operator*() & {
    assert(ok());
    return std::get<T>(state_);
  }
  // By value: a reference into the dying Result would dangle in `for (auto& x : *List())`.
  T operator*() && {
    assert(ok());
    return std::get<T>(std::move(state_));
  }
  const T* operator->() const { return &**this; }
  T* operator->() { return &**this; }

 private:
  std::variant<T, Status> state_;
};

}  // namespace fabric

#define FABRIC_CONCAT_(a, b) a##b
#define FABRIC_CONCAT(a, b) FABRIC_CONCAT_(a, b)

// Returns from the calling function when `expr`, a Status, is a failure.
#define RETURN_IF_ERROR(expr)                                             \
  do {                                                                    \
    if (::fabric::Status status_ = (expr); !status_.ok()) return status_; \
  } while (false)

// Assigns the value of `expr`, a Result, or returns its failure.
#define ASSIGN_OR_RETURN(lhs, expr) ASSIGN_OR_RETURN_(FABRIC_CONCAT(result_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_(result, lhs, expr) \
  auto result = (expr);                      \
  if (!result.ok()) return result.status();  \
  lhs = *std::move(result)
