#include "agents/subnet/umad_transport.h"

#include <utility>
#include <vector>

#include "agents/host/umad/umad.h"
#include "base/lists.h"
#include "base/text.h"

namespace fabric::agent {
namespace {

class UmadTransport final : public MadTransport {
 public:
  UmadTransport(std::string name, std::unique_ptr<host::Umad> umad)
      : name_(std::move(name)), umad_(std::move(umad)) {}

  std::string name() const override { return name_; }

  Status Send(const MadPacket& packet, Duration timeout) override {
    return umad_->Send(
        {.directed = packet.lid == kPermissiveLid, .lid = packet.lid, .mad = packet.mad}, timeout);
  }

  Result<std::optional<MadPacket>> Receive(Duration wait) override {
    ASSIGN_OR_RETURN(const auto packet, umad_->Receive(wait));
    if (!packet) return std::optional<MadPacket>();
    return std::optional<MadPacket>(
        MadPacket{.lid = packet->lid, .lost = packet->lost, .mad = packet->mad});
  }

 private:
  const std::string name_;
  const std::unique_ptr<host::Umad> umad_;
};

}  // namespace

Result<std::unique_ptr<MadTransport>> OpenUmadTransport(const std::string& device,
                                                        std::uint32_t port) {
  ASSIGN_OR_RETURN(const std::vector<host::UmadPort> ports, host::ListUmadPorts());
  std::vector<std::string> names;
  for (const host::UmadPort& each : ports) {
    std::string name = Format("{} port {}", each.device, each.port);
    if ((device.empty() || device == each.device) && (port == 0 || port == each.port)) {
      ASSIGN_OR_RETURN(auto umad, host::OpenUmad(each));
      return std::unique_ptr<MadTransport>(
          std::make_unique<UmadTransport>(std::move(name), std::move(umad)));
    }
    names.push_back(std::move(name));
  }
  return Status(Code::kNotFound, Format("expected a umad device of {}{}, saw {}",
                                        device.empty() ? std::string("an InfiniBand port") : device,
                                        port == 0 ? std::string() : Format(" port {}", port),
                                        names.empty() ? std::string("none; load the module ib_umad")
                                                      : ListSome(names, 8)));
}

}  // namespace fabric::agent
