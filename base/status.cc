#include "base/status.h"

namespace fabric {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kCancelled: return "CANCELLED";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case Code::kNotFound: return "NOT_FOUND";
    case Code::kAlreadyExists: return "ALREADY_EXISTS";
    case Code::kPermissionDenied: return "PERMISSION_DENIED";
    case Code::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition: return "FAILED_PRECONDITION";
    case Code::kUnimplemented: return "UNIMPLEMENTED";
    case Code::kInternal: return "INTERNAL";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kDataLoss: return "DATA_LOSS";
    case Code::kUnauthenticated: return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

Status FromErrno(int error, std::string_view what) {
  const Code code = [&] {
    switch (error) {
      case ENOENT:
      case ENODEV:
      case ENOTDIR:
      case ENXIO: return Code::kNotFound;
      case EACCES:
      case EPERM: return Code::kPermissionDenied;
      case EINVAL:
      case EOPNOTSUPP:
      case ENOSYS:
      case EPROTONOSUPPORT: return Code::kUnimplemented;
      case EAGAIN:
      case EBUSY:
      case EIO:
      case ECONNREFUSED:
      case ENETDOWN: return Code::kUnavailable;
      case ENOMEM:
      case EMFILE:
      case ENFILE: return Code::kResourceExhausted;
      case EHOSTUNREACH:
      case ETIMEDOUT: return Code::kDeadlineExceeded;
      case EEXIST: return Code::kAlreadyExists;
      default: return Code::kInternal;
    }
  }();
  return {code, std::string(what) + ": " + std::strerror(error)};  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace fabric
