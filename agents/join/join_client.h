// Calls of service NodeJoin over gRPC. Each call has a connection of its own, so that the stream of
// the agent is not disturbed.
#pragma once

#include <utility>
#include <vector>

#include "agents/join/credential.h"
#include "base/grammar.h"

namespace fabric::agent {

class JoinClient final : public JoinCalls {
 public:
  // The addresses of the controllers, of which one answers.
  explicit JoinClient(std::vector<HostPort> controllers) : controllers_(std::move(controllers)) {}
  Result<v1::Authority> GetAuthority() override;
  Result<v1::JoinNodeResponse> Join(const tls::TlsMaterial& material,
                                    const v1::JoinNodeRequest& request) override;
  Result<v1::JoinNodeResponse> Renew(const tls::TlsMaterial& material,
                                     const v1::RenewNodeRequest& request) override;

 private:
  std::vector<HostPort> controllers_;
};

}  // namespace fabric::agent
