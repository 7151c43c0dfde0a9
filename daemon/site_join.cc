#include "daemon/site_join.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "base/tls/certificate.h"
#include "daemon/api/caller_certificate.h"
#include "daemon/store/postgres/url.h"
#include "daemon/store/recovery.h"

namespace fabric {
namespace {

// Both settings of the CA or none of them.
Result<bool> IsOn(const Settings& settings, const tls::TlsFiles* tls) {
  const bool certificate = settings.Has("join-ca");
  const bool key = settings.Has("join-ca-key");
  if (!certificate && !key) return false;
  if (certificate != key)
    return Status(Code::kInvalidArgument, Format("{}: expected a file, because {} is set, saw none",
                                                 certificate ? "join-ca-key" : "join-ca",
                                                 certificate ? "join-ca" : "join-ca-key"));
  if (tls == nullptr)
    return Status(Code::kInvalidArgument,
                  "join-ca: expected the settings tls-cert, tls-key and tls-ca, saw none: nodes "
                  "join over TLS");
  return true;
}

}  // namespace

// A state in PostgreSQL has no folder: the audit log is a file in any case.
std::string RegistryPath(const Settings& settings) {
  const std::string state = settings.Text("state");
  return (store::IsPostgresUrl(state) ? settings.Text("audit-log") : state) +
         std::string(store::kJoinSuffix);
}

SiteJoin::SiteJoin(std::unique_ptr<join::Registry> registry, std::unique_ptr<join::NodeCa> ca,
                   api::AgentFront& agents)
    : registry_(std::move(registry)),
      ca_(std::move(ca)),
      service_(*registry_, *ca_, [&agents](const std::string& node, const std::string& chain) {
        const auto facts = tls::ParseCertificate(chain);
        if (facts.ok()) agents.OnRenewed(node, api::ToClientCertificate(*facts, chain));
      }) {}

Result<std::unique_ptr<SiteJoin>> SiteJoin::Open(const Settings& settings, const tls::TlsFiles* tls,
                                                 api::AgentFront& agents, WallTime now) {
  ASSIGN_OR_RETURN(const bool on, IsOn(settings, tls));
  if (!on) return std::unique_ptr<SiteJoin>();
  auto ca = join::NodeCa::Open({.certificate = settings.Text("join-ca"),
                                .key = settings.Text("join-ca-key"),
                                .trust_domain = settings.Text("trust-domain"),
                                .lifetime = settings.Duration("join-lifetime")},
                               *tls, now);
  if (!ca.ok()) return ca.status().In("join-ca");
  auto registry = join::Registry::Open(RegistryPath(settings));
  if (!registry.ok()) return registry.status().In("state");
  log::Info("nodes can join: {} signs their certificates", settings.Text("join-ca"));
  return std::unique_ptr<SiteJoin>(new SiteJoin(*std::move(registry), *std::move(ca), agents));
}

void SiteJoin::Tick(WallTime now) {
  const auto changed = ca_->Check(now);
  if (!changed.ok() || *changed) problem_ = changed.status();
  if (!changed.ok())
    log::Error("new files of join-ca refused, the previous ones stay in use: {}",
               changed.status().message());
  else if (*changed)
    log::Info("files of join-ca reloaded");
}

}  // namespace fabric
