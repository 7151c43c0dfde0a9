// Conversion of Status to grpc::Status; the codes are numerically equal.
#pragma once

#include <grpcpp/support/status.h>

#include "base/status.h"

namespace fabric::api {

inline grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), status.message()};
}

}  // namespace fabric::api
