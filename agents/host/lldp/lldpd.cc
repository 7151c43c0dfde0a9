#include "agents/host/lldp/lldpd.h"

#include <chrono>
#include <span>
#include <utility>

#include "agents/host/shared_library.h"
#include "base/text.h"

namespace fabric::host {
namespace {

// The part of the library's binary interface that is used, from its header lldpctl.h. The header
// itself comes with the daemon, which a build should not need.
struct Connection;  // lldpctl_conn_t
struct Atom;        // lldpctl_atom_t
struct Iterator;    // lldpctl_atom_iter_t

enum Key : int {  // lldpctl_key_t
  kInterfaceName = 1000,
  kPortNeighbors = 1200,
  kPortProtocol = 1201,
  kPortAge = 1202,
  kPortIdSubtype = 1203,
  kKeyPortId = 1204,
  kKeyPortDescription = 1205,
  kPortChassis = 1208,
  kPortTtl = 1209,
  kPortMaxFrame = 1300,
  kPortAggregation = 1301,
  kPortVlan = 1500,
  kChassisIdSubtype = 1801,
  kKeyChassisId = 1802,
  kChassisName = 1803,
  kChassisDescription = 1804,
  kChassisManagement = 1807,
  kKeyManagementAddress = 3000,
  kCustomTlvs = 5000,
  kCustomTlvOui = 5003,
  kCustomTlvSubtype = 5004,
  kCustomTlvContent = 5005,
};
constexpr long kProtocolLldp = 1;  // Others are CDP, EDP and the like.

class LldpdLibrary {
 public:
  static Result<LldpdLibrary> Load(const std::string& name) {
    LldpdLibrary library;
    ASSIGN_OR_RETURN(library.file_, SharedLibrary::Load(name));
    const bool whole =
        library.file_.Find("lldpctl_new_name", library.connect) &&
        library.file_.Find("lldpctl_log_callback", library.log_to) &&
        library.file_.Find("lldpctl_get_default_transport", library.default_socket) &&
        library.file_.Find("lldpctl_release", library.release) &&
        library.file_.Find("lldpctl_last_error", library.last_error) &&
        library.file_.Find("lldpctl_strerror", library.error_text) &&
        library.file_.Find("lldpctl_get_interfaces", library.interfaces) &&
        library.file_.Find("lldpctl_get_port", library.port) &&
        library.file_.Find("lldpctl_atom_get", library.get) &&
        library.file_.Find("lldpctl_atom_get_str", library.get_text) &&
        library.file_.Find("lldpctl_atom_get_buffer", library.get_bytes) &&
        library.file_.Find("lldpctl_atom_get_int", library.get_number) &&
        library.file_.Find("lldpctl_atom_iter", library.first) &&
        library.file_.Find("lldpctl_atom_iter_next", library.next) &&
        library.file_.Find("lldpctl_atom_iter_value", library.value) &&
        library.file_.Find("lldpctl_atom_dec_ref", library.forget);
    if (!whole)
      return Status(Code::kUnimplemented, Format("{} lacks functions of lldpd 1.0", name));
    return library;
  }

  void (*log_to)(void (*)(int severity, const char* text)) = nullptr;
  Connection* (*connect)(const char* socket, void* send, void* receive, void* data) = nullptr;
  const char* (*default_socket)() = nullptr;
  int (*release)(Connection*) = nullptr;
  int (*last_error)(Connection*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  Atom* (*interfaces)(Connection*) = nullptr;
  Atom* (*port)(Atom* interface) = nullptr;
  Atom* (*get)(Atom*, int key) = nullptr;
  const char* (*get_text)(Atom*, int key) = nullptr;
  const std::uint8_t* (*get_bytes)(Atom*, int key, std::size_t* size) = nullptr;
  long (*get_number)(Atom*, int key) = nullptr;
  Iterator* (*first)(Atom*) = nullptr;
  Iterator* (*next)(Atom*, Iterator*) = nullptr;
  Atom* (*value)(Atom*, Iterator*) = nullptr;
  void (*forget)(Atom*) = nullptr;

 private:
  SharedLibrary file_;
};

struct Forget {
  const LldpdLibrary* library;
  void operator()(Atom* atom) const { library->forget(atom); }
};

// A thing that lldpd knows, until the end of the scope.
class Thing {
 public:
  Thing(const LldpdLibrary& library, Atom* atom)
      : library_(library), atom_(atom, Forget{&library}) {}

  explicit operator bool() const { return atom_ != nullptr; }
  Thing Get(Key key) const { return {library_, library_.get(atom_.get(), key)}; }
  Thing Port() const { return {library_, library_.port(atom_.get())}; }

  std::optional<std::string> Text(Key key) const {
    const char* const text = library_.get_text(atom_.get(), key);
    if (text == nullptr) return std::nullopt;
    return LldpText(text);
  }
  std::span<const std::uint8_t> Bytes(Key key) const {
    std::size_t size = 0;
    const std::uint8_t* const bytes = library_.get_bytes(atom_.get(), key, &size);
    return {bytes, bytes == nullptr ? 0 : size};
  }
  // -1: it has none. Of VLAN, maximum frame and aggregation 0 means the same.
  std::optional<std::uint32_t> Number(Key key, long least) const {
    const long number = library_.get_number(atom_.get(), key);
    if (number < least) return std::nullopt;
    return static_cast<std::uint32_t>(number);
  }

  template <class Visit>
  void ForEach(Visit visit) const {
    for (Iterator* at = library_.first(atom_.get()); at != nullptr;
         at = library_.next(atom_.get(), at))
      if (const Thing item(library_, library_.value(atom_.get(), at)); item) visit(item);
  }

 private:
  const LldpdLibrary& library_;
  std::unique_ptr<Atom, Forget> atom_;
};

std::uint32_t Oui(std::span<const std::uint8_t> bytes) {
  return bytes.size() != 3 ? 0U
                           : static_cast<std::uint32_t>(bytes[0] << 16 | bytes[1] << 8 | bytes[2]);
}

void ReadChassis(const Thing& chassis, LldpFrame& frame) {
  frame.chassis_id = chassis.Text(kKeyChassisId).value_or("");
  frame.chassis_id_subtype = chassis.Number(kChassisIdSubtype, 0).value_or(0);
  frame.system_name = chassis.Text(kChassisName);
  frame.system_description = chassis.Text(kChassisDescription);
  if (const Thing addresses = chassis.Get(kChassisManagement)) {
    addresses.ForEach([&](const Thing& address) {
      if (auto ip = address.Text(kKeyManagementAddress)) frame.management_addresses.push_back(*ip);
    });
  }
}

LldpFrame ReadNeighbor(const Thing& port) {
  LldpFrame frame;
  frame.port_id = port.Text(kKeyPortId).value_or("");
  frame.port_id_subtype = port.Number(kPortIdSubtype, 0).value_or(0);
  frame.ttl_s = port.Number(kPortTtl, 0).value_or(0);
  frame.port_description = port.Text(kKeyPortDescription);
  frame.max_frame_bytes = port.Number(kPortMaxFrame, 1);
  frame.port_vlan_id = port.Number(kPortVlan, 1);
  frame.link_aggregation_port_id = port.Number(kPortAggregation, 1);
  frame.link_aggregation_enabled = frame.link_aggregation_port_id.has_value();
  if (const Thing chassis = port.Get(kPortChassis)) ReadChassis(chassis, frame);
  // TLVs that lldpd does not know it hands on, those of DCBX among them.
  if (const Thing tlvs = port.Get(kCustomTlvs)) {
    tlvs.ForEach([&](const Thing& tlv) {
      ReadLldpTlv(Oui(tlv.Bytes(kCustomTlvOui)),
                  static_cast<std::uint8_t>(tlv.Number(kCustomTlvSubtype, 0).value_or(0)),
                  tlv.Bytes(kCustomTlvContent), frame);
    });
  }
  return frame;
}

void ReadNeighbors(const Thing& interface, std::vector<LldpdNeighbor>& found) {
  const std::string netdev = interface.Text(kInterfaceName).value_or("");
  const Thing port = interface.Port();
  if (!port) return;
  const Thing neighbors = port.Get(kPortNeighbors);
  if (!neighbors) return;
  neighbors.ForEach([&](const Thing& neighbor) {
    if (neighbor.Number(kPortProtocol, 0) != kProtocolLldp) return;
    const std::chrono::seconds heard(neighbor.Number(kPortAge, 0).value_or(0));
    found.push_back(
        {.netdev = netdev, .frame = ReadNeighbor(neighbor), .received_at = WallTime(heard)});
  });
}

class LoadedLldpd final : public Lldpd {
 public:
  LoadedLldpd(std::string name, std::string socket)
      : name_(std::move(name)), socket_(std::move(socket)) {}

  Result<std::vector<LldpdNeighbor>> Neighbors() override {
    if (!library_) {
      ASSIGN_OR_RETURN(LldpdLibrary loaded, LldpdLibrary::Load(name_));
      library_ = std::make_unique<LldpdLibrary>(std::move(loaded));
      // Else the library writes to the standard error output, in addition to its status.
      library_->log_to([](int, const char*) {});
    }
    const LldpdLibrary& library = *library_;
    const char* const socket = socket_.empty() ? library.default_socket() : socket_.c_str();
    const std::unique_ptr<Connection, int (*)(Connection*)> connection(
        library.connect(socket, nullptr, nullptr, nullptr), library.release);
    if (connection == nullptr) return Status(Code::kResourceExhausted, "lldpd: no memory");
    const Thing interfaces(library, library.interfaces(connection.get()));
    if (!interfaces) {
      const char* const why = library.error_text(library.last_error(connection.get()));
      return Status(Code::kUnavailable,
                    Format("lldpd at {}: {}", socket, why == nullptr ? "no answer" : why));
    }
    std::vector<LldpdNeighbor> found;
    interfaces.ForEach([&](const Thing& interface) { ReadNeighbors(interface, found); });
    return found;
  }

 private:
  const std::string name_;
  const std::string socket_;
  std::unique_ptr<LldpdLibrary> library_;
};

}  // namespace

std::unique_ptr<Lldpd> OpenLldpd(std::string library, std::string socket) {
  return std::make_unique<LoadedLldpd>(std::move(library), std::move(socket));
}

}  // namespace fabric::host
