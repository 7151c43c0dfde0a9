#include <google/protobuf/descriptor.h>

#include <cassert>

#include "daemon/api/fabric_api.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::api {

const google::protobuf::ServiceDescriptor& FabricService() {
  const auto* const service = v1::Event::descriptor()->file()->FindServiceByName("Fabric");
  assert(service != nullptr);
  return *service;
}

}  // namespace fabric::api
