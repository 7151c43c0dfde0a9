#include "proto/fabric_service.h"

#include <google/protobuf/descriptor.h>

#include <cassert>

#include "fabric/v1/fabric.pb.h"

namespace fabric {

const google::protobuf::ServiceDescriptor& FabricService() {
  const auto* const service = v1::Event::descriptor()->file()->FindServiceByName("Fabric");
  assert(service != nullptr);
  return *service;
}

const google::protobuf::ServiceDescriptor& NodeJoinService() {
  const auto* const service =
      v1::JoinNodeRequest::descriptor()->file()->FindServiceByName("NodeJoin");
  assert(service != nullptr);
  return *service;
}

const google::protobuf::MethodDescriptor* MethodOf(const google::protobuf::Descriptor& request) {
  const google::protobuf::ServiceDescriptor& service = FabricService();
  for (int i = 0; i < service.method_count(); ++i)
    if (service.method(i)->input_type() == &request) return service.method(i);
  return nullptr;
}

}  // namespace fabric
