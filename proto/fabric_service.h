// Descriptors of service Fabric, the public API, and of NodeJoin.
#pragma once

namespace google::protobuf {
class Descriptor;
class MethodDescriptor;
class ServiceDescriptor;
}  // namespace google::protobuf

namespace fabric {

// As compiled in; without comments.
const google::protobuf::ServiceDescriptor& FabricService();
// For agents that join or renew their certificates.
const google::protobuf::ServiceDescriptor& NodeJoinService();

// The method that takes this type of request; each method has its own. nullptr: none.
const google::protobuf::MethodDescriptor* MethodOf(const google::protobuf::Descriptor& request);

}  // namespace fabric
