// Server reflection of gRPC for callers who may use it. Heavy headers; include it in grpc_front.cc
// only.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <vector>

#include "daemon/api/fabric_api.h"

namespace fabric::api {

// For ServerBuilder: cancels calls of the reflection service that `call` refuses. Other calls pass.
std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
ReflectionGuards(CallFunction call);

}  // namespace fabric::api
