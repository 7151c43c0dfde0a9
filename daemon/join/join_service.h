// Nodes join and renew their certificates. Without a CA of nodes, joining is off. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/access/authenticator.h"
#include "daemon/access/caller.h"
#include "daemon/access/denied_limit.h"
#include "daemon/join/node_ca.h"
#include "daemon/join/registry.h"

namespace fabric::join {

class JoinService {
 public:
  // Calls of GetAuthority and Join: at once, then per second; of one address, and of all.
  static constexpr double kHostBurst = 100;
  static constexpr double kHostPerSecond = 5;
  static constexpr double kAllBurst = 500;
  static constexpr double kAllPerSecond = 100;
  static constexpr std::size_t kHostsMax = 10'000;  // More share one place.

  // Called when a node has renewed its certificate.
  using OnRenewed = std::function<void(const std::string& node, const std::string& chain_pem)>;

  // Both must outlive it.
  JoinService(Registry& registry, NodeCa& ca, OnRenewed on_renewed = {})
      : registry_(registry), ca_(ca), on_renewed_(std::move(on_renewed)) {}

  // RESOURCE_EXHAUSTED: the caller has to wait.
  Status Admit(const access::Caller& caller, Moment now) EXCLUDES(mutex_);

  v1::Authority Authority() const;

  // Errors of Registry::UseToken, Registry::Ask and NodeCa::Sign. `by`: set to who grants it, also
  // before a failure: "join token rack-12".
  Result<v1::JoinNodeResponse> Join(const access::Caller& caller,
                                    const v1::JoinNodeRequest& request, Moment now,
                                    std::string& by);
  // For the node that the certificate of the caller names by a SPIFFE id. PERMISSION_DENIED
  // otherwise.
  Result<v1::JoinNodeResponse> Renew(const access::Principal& principal,
                                     const v1::RenewNodeRequest& request, Moment now);

  // The answer has the secret: "fabric_join_..." and the pin of the CA.
  Result<v1::JoinToken> CreateToken(const v1::CreateJoinTokenRequest& request, Moment now);
  Registry& registry() { return registry_; }

 private:
  Result<v1::JoinNodeResponse> Issue(const std::string& node, const std::string& request,
                                     const std::string& granted_by, Moment now);

  Registry& registry_;
  NodeCa& ca_;
  const OnRenewed on_renewed_;
  Mutex mutex_;
  std::map<std::string, access::TokenBucket> hosts_ GUARDED_BY(mutex_);
  access::TokenBucket all_ GUARDED_BY(mutex_){kAllBurst, kAllPerSecond};
};

}  // namespace fabric::join
