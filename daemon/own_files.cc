#include "daemon/own_files.h"

#include <utility>

#include "base/tls/tls_files.h"

namespace fabric {
namespace {

// "certificate of fabricd"
std::string NameOf(const tls::FilePeriod& period) {
  return period.what + (period.what == "certificate" ? " of fabricd" : " of tls-ca");
}

}  // namespace

rules::ControllerFiles OwnFiles::Read(WallTime now) const {
  rules::ControllerFiles files;
  const auto refuse = [&](const char* setting, const Status& problem) {
    if (!problem.ok()) files.refused.push_back({.setting = setting, .reason = problem.message()});
  };
  if (const tls::TlsFiles* const tls = transport_.files()) {
    refuse("tls-cert", tls->problem());
    for (const tls::FilePeriod& period : tls->Expiring(now))
      files.expiring.push_back(
          {.what = NameOf(period), .path = period.path, .not_after = period.to});
  }
  for (const auto& [setting, reason] : site_.refused())
    files.refused.push_back({.setting = setting, .reason = reason});
  refuse("signing-key", keys_.problem());
  if (join_ != nullptr) refuse("join-ca", join_->problem());
  return files;
}

void OwnFiles::Check(WallTime now) {
  rules::ControllerFiles files = Read(now);
  if (files == passed_on_) return;
  controller_.SetFiles(files);
  passed_on_ = std::move(files);
}

}  // namespace fabric
