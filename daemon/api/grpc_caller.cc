#include "daemon/api/grpc_caller.h"

#include <string>

#include "daemon/api/caller_certificate.h"
#include "daemon/api/peer_slots.h"

namespace fabric::api {
namespace {

std::string AddressOf(const std::string& peer) {
  const std::size_t colon = peer.rfind(':');
  return colon == peer.npos ? peer : PeerHost(peer) + peer.substr(colon);
}

// All values, so that a second header cannot hide behind the first one: "Bearer a, Bearer b" is not
// a token.
std::string AuthorizationOf(const grpc::ServerContextBase& context) {
  std::string all;
  const auto [begin, end] = context.client_metadata().equal_range("authorization");
  for (auto at = begin; at != end; ++at) {
    if (!all.empty()) all += ", ";
    all.append(at->second.data(), at->second.size());
  }
  return all;
}

}  // namespace

access::Caller CallerOf(const grpc::ServerContextBase& context) {
  access::Caller caller;
  caller.address = AddressOf(context.peer());
  caller.authorization = AuthorizationOf(context);
  caller.encrypted = IsEncrypted(context);
  caller.certificate = CallerCertificate(context);
  return caller;
}

}  // namespace fabric::api
