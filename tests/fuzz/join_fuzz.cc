// Requests of nodes that join (JoinNodeRequest): none gets a certificate without a token or an
// approval, and a refusal is one line without the token.
#include <memory>
#include <string>

#include "base/tls/issuer.h"
#include "daemon/join/join_service.h"
#include "fabric/v1/join.pb.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/join/join_files.h"

using fabric::fuzz::Check;

namespace {

class JoinWorld {
 public:
  void Join(const fabric::v1::JoinNodeRequest& request) {
    fabric::access::Caller caller;
    // Its own address each time: the number of requests of one is limited.
    caller.address = "192.0.2." + std::to_string(next_++ % 250) + ":1";
    caller.encrypted = true;
    std::string by;
    const auto joined = service_.Join(caller, request, now_, by);
    Check(by.empty(), "nothing granted it");
    if (joined.ok()) {
      Check(request.token().empty(), "no token is known");
      Check(joined->state() == fabric::v1::JOIN_REQUEST_STATE_PENDING, "it waits for approval");
      Check(joined->certificate().empty(), "no certificate without approval");
      return;
    }
    const std::string message = joined.status().message();
    Check(message.find('\n') == std::string::npos, "an error is one line");
    Check(!IsSecret(request) || message.find(request.token()) == message.npos,
          "an error does not have the token");
  }

 private:
  // A token, and not a part of an error or of what an error can quote.
  static bool IsSecret(const fabric::v1::JoinNodeRequest& request) {
    constexpr std::size_t kSecretMin = 20;
    const std::string& token = request.token();
    return token.starts_with("fabric_join_") && token.size() >= kSecretMin &&
           request.node().find(token) == std::string::npos &&
           request.certificate_request().find(token) == std::string::npos;
  }

  const fabric::Moment now_ = fabric::SystemClock().Now();
  fabric::testing::JoinFiles files_{now_.wall};
  std::unique_ptr<fabric::join::NodeCa> ca_ = *files_.OpenCa();
  std::unique_ptr<fabric::join::Registry> registry_ =
      *fabric::join::Registry::Open(files_.Path("state.join"));
  fabric::join::JoinService service_{*registry_, *ca_};
  unsigned next_ = 0;
};

}  // namespace

// The bytes of a message, or the text of a certificate request with a token.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static JoinWorld world;
  fabric::v1::JoinNodeRequest request;
  if (request.ParseFromArray(data, static_cast<int>(size))) world.Join(request);
  request.Clear();
  request.set_node("n1");
  request.set_certificate_request(reinterpret_cast<const char*>(data), size);
  world.Join(request);
  request.set_token("fabric_join_" + std::string(43, 'x'));
  world.Join(request);
  return 0;
}
