// Messages of two agents that may send anything: the controller goes on, prints what it has taken,
// and keeps what honest agents reported.
//
// The input is a row of steps. Each has a byte of flags, two bytes of length, and an AgentMessage.
// Flags: 1: the second of the agents. 6: time before it, see kTimes. 8: a campaign starts before
// it. 16: the connection of the agent ends before it.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/control/controller.h"
#include "fabric/v1/agent.pb.h"
#include "proto/json.h"
#include "proto/timestamps.h"
#include "proto/wire_check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/testing/control_world.h"

using fabric::fuzz::Check;

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTimes[] = {0s, 100ms, 2s, 20s};
constexpr std::uint32_t kHonest = 2;

class HostileWorld {
 public:
  HostileWorld() : world_({.mesh = {.on = true, .paths = 4}}) {
    world_.ConnectNodes(kHonest);
    for (std::uint32_t n = 0; n < kHonest; ++n) before_[n] = SnapshotOf(n);
  }

  void Take(std::uint8_t flags, std::string_view wire) {
    static const WireCheck check(*v1::AgentMessage::descriptor(), BoundOf("agent_message_bytes"),
                                 BoundOf("agent_message_memory"));
    world_.agents.Advance(kTimes[flags / 2 % std::size(kTimes)]);
    if ((flags & 8) != 0) (void)world_.Refusal({});
    const SessionId session(1'001 + flags % 2);
    if ((flags & 16) != 0) End(session);
    const WireCheckResult found = check.Check(wire);
    if (found.excess)
      return (void)world_.controller->OnExcess(session, *found.excess, world_.agents.now());
    v1::AgentMessage message;
    if (!message.ParseFromArray(wire.data(), static_cast<int>(wire.size()))) return End(session);
    // The machine of an honest agent may replace its session.
    const std::string& machine = message.hello().node().machine_id();
    if (machine == "machine-n1" || machine == "machine-n2") return;
    (void)ClearInvalidTimestamps(message);
    const Status taken =
        world_.controller->OnMessage(session, std::move(message), world_.agents.now());
    Check(taken.message().find('\n') == std::string::npos, "an error is one line");
    if (!taken.ok()) End(session);
  }

  void CheckAll() {
    world_.agents.Advance(25s);
    for (std::uint32_t n = 0; n < kHonest; ++n) {
      Check(SnapshotOf(n) == before_[n], "no agent changes the settings of another node");
      Check(world_.Node(NameOf(n)).state() == v1::NODE_STATE_CONNECTED,
            "no agent ends the session of another one");
    }
    const v1::ListNodesResponse nodes = Answer<v1::ListNodesResponse>(v1::ListNodesRequest());
    for (const v1::NodeSummary& node : nodes.nodes()) {
      v1::GetNodeRequest request;
      request.set_name(node.name());
      (void)Answer<v1::GetNodeResponse>(request);
    }
    (void)Answer<v1::ListDevicesResponse>(v1::ListDevicesRequest());
    (void)Answer<v1::MeshStatus>(v1::GetMeshRequest());
    (void)Answer<v1::ListSubnetsResponse>(v1::ListSubnetsRequest());
    (void)Answer<v1::ValidateResponse>(v1::ValidateRequest());
    (void)Answer<v1::InferProfileResponse>(v1::InferProfileRequest());
    const auto campaigns = Answer<v1::ListCampaignsResponse>(v1::ListCampaignsRequest());
    for (const v1::Campaign& campaign : campaigns.campaigns()) {
      v1::ListCampaignResultsRequest request;
      request.set_id(campaign.id());
      (void)Answer<v1::ListCampaignResultsResponse>(request);
    }
    (void)world_.controller->Numbers();
    const auto findings = Answer<v1::ListFindingsResponse>(v1::ListFindingsRequest());
    world_.Restart();
    const auto restored = Answer<v1::ListFindingsResponse>(v1::ListFindingsRequest());
    Check(restored.findings_size() == findings.findings_size(), "findings survive a restart");
  }

 private:
  static std::string NameOf(std::uint32_t n) { return "n" + std::to_string(n + 1); }

  void End(SessionId session) {
    world_.controller->OnGone(session, "the connection ended", world_.agents.now());
  }
  template <class Response, class Request>
  Response Answer(const Request& request) {
    Response response;
    const Status status = world_.controller->Call(request, response, world_.agents.now());
    Check(status.ok(), status.message().c_str());
    Check(ToJson(response, false) != "{}" || response.ByteSizeLong() == 0,
          "what the API answers can be printed");
    return response;
  }
  // Without what changes by itself.
  std::string SnapshotOf(std::uint32_t n) {
    v1::GetNodeRequest request;
    request.set_name(NameOf(n));
    auto snapshot = Answer<v1::GetNodeResponse>(request).snapshot();
    snapshot.clear_taken_at();
    return snapshot.SerializeAsString();
  }

  testing::ControlWorld world_;
  std::string before_[kHonest];
};

}  // namespace
}  // namespace fabric::control

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  google::protobuf::SetLogHandler(nullptr);
  if (size < 3) return 0;
  fabric::control::HostileWorld world;
  while (size >= 3) {
    const std::uint8_t flags = data[0];
    const std::size_t length = std::min<std::size_t>(data[1] + data[2] * 256U, size - 3);
    world.Take(flags, {reinterpret_cast<const char*>(data) + 3, length});
    data += 3 + length;
    size -= 3 + length;
  }
  world.CheckAll();
  return 0;
}
