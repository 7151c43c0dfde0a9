// Caller of a gRPC call or stream. Heavy headers; include it in the files of the gRPC front only.
#pragma once

#include <grpcpp/server_context.h>

#include "daemon/access/caller.h"

namespace fabric::api {

access::Caller CallerOf(const grpc::ServerContextBase& context);

}  // namespace fabric::api
