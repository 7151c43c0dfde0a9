// Files of fabricd with a CA that signs certificates of nodes.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <string>

#include "base/atomic_file.h"
#include "base/tls/issuer.h"
#include "base/tls/tls_files.h"
#include "daemon/join/node_ca.h"
#include "tests/testing/temp_tree.h"

namespace fabric::testing {

class JoinFiles {
 public:
  explicit JoinFiles(WallTime now) : now_(now), valid_{now - kHour, now + 100 * kHour} {
    Put("ca.pem", ca_.certificate_pem);
    Put("ca-key.pem", ca_.key_pem);
    const auto server = tls::Issue(ca_,
                                   {.common_name = "fabricd",
                                    .dns_names = {"localhost"},
                                    .addresses = {"127.0.0.1"},
                                    .server = true},
                                   valid_);
    Put("cert.pem", server->certificate_pem);
    Put("key.pem", server->key_pem);
    auto files = tls::TlsFiles::Open({Path("cert.pem"), Path("key.pem"), Path("ca.pem"), ""}, now);
    EXPECT_TRUE(files.ok()) << files.status().message();
    files_ = *std::move(files);
  }

  std::string Path(const std::string& name) const { return tree_.path() + "/" + name; }
  void Put(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(WriteFileAtomically(Path(name), text, 0600).ok());
  }
  Result<std::unique_ptr<join::NodeCa>> OpenCa(Duration lifetime = 10 * kHour) const {
    return join::NodeCa::Open({.certificate = Path("ca.pem"),
                               .key = Path("ca-key.pem"),
                               .trust_domain = "fabric",
                               .lifetime = lifetime},
                              *files_, now_);
  }
  const tls::KeyAndCertificate& ca() const { return ca_; }
  tls::TlsFiles& tls() { return *files_; }

 private:
  static constexpr Duration kHour = std::chrono::hours(1);
  const WallTime now_;
  const tls::Validity valid_;
  const tls::KeyAndCertificate ca_ = *tls::MakeCa("test CA", valid_);
  TempTree tree_;
  std::unique_ptr<tls::TlsFiles> files_;
};

}  // namespace fabric::testing
