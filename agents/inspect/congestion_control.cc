#include <algorithm>
#include <array>
#include <map>

#include "agents/inspect/attributes.h"
#include "agents/inspect/lossless.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/rdma.h"
#include "agents/inspect/report/lossless_text.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kCongestionControlName = "congestion_control";
constexpr std::uint32_t kEcnPriorities = 8;
constexpr std::string_view kDebugMlx5 = "sys/kernel/debug/mlx5";
constexpr std::string_view kDebugBnxt = "sys/kernel/debug/bnxt_re";
constexpr std::string_view kConfigBnxt = "sys/kernel/config/bnxt_re";
constexpr std::string_view kConfigIrdma = "sys/kernel/config/irdma";
constexpr std::string_view kModuleIrdma = "sys/module/irdma/parameters";

// Whose settings are read: those of a RoCE port and the netdev behind it.
struct Subject {
  const Host& host;
  const v1::RdmaDevice& device;
  const v1::Port& port;
  const v1::NetInterface& netdev;
  Gaps gaps;
};

void AddParameter(std::string_view name, std::uint64_t value, v1::CongestionControl& to) {
  v1::CongestionParameter& parameter = *to.add_parameters();
  parameter.set_name(std::string(name));
  parameter.set_value(value);
  parameter.set_unit(std::string(CongestionUnit(name)));
}

// Reads the files of one directory. Each costs the firmware a command: when it refuses one it
// refuses all, and one gap says so.
class Settings {
 public:
  explicit Settings(const Attributes& files) : files_(files) {}
  ~Settings() {
    if (failed_ == 0) return;
    files_.Gap(first_failed_,
               failed_ == 1 ? failure_
                            : Status(failure_.code(),
                                     Format("{} (and {} more)", failure_.message(), failed_ - 1)));
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  std::optional<std::uint64_t> Read(const std::string& name) {
    const Result<std::string> text = files_.dir().Text(name);
    if (text.status().code() == Code::kNotFound) return std::nullopt;
    if (!text.ok()) return Fail(name, text.status());
    if (text->empty())  // How MLNX_OFED's files say that the firmware did not answer.
      return Fail(name, Status(Code::kUnimplemented, "the file is empty"));
    const Result<std::uint64_t> value = ParseSetting(*text);
    if (!value.ok()) return Fail(name, value.status());
    return *value;
  }

  std::optional<std::uint32_t> Read32(const std::string& name) {
    const auto value = Read(name);
    if (!value || *value > UINT32_MAX) return std::nullopt;
    return static_cast<std::uint32_t>(*value);
  }

  // All that the driver has, or none when one is refused.
  template <std::size_t N>
  void Parameters(const std::string& below, const std::array<std::string_view, N>& names,
                  v1::CongestionControl& to) {
    const int refused_before = refused_;
    const int size_before = to.parameters_size();
    for (const std::string_view name : names)
      if (const auto value = Read(below + std::string(name))) AddParameter(name, *value, to);
    if (refused_ > refused_before)
      to.mutable_parameters()->DeleteSubrange(size_before, to.parameters_size() - size_before);
  }

 private:
  std::nullopt_t Fail(const std::string& name, const Status& status) {
    if (status.code() != Code::kUnimplemented) ++refused_;
    if (failed_++ == 0) {
      first_failed_ = name;
      failure_ = status;
    }
    return std::nullopt;
  }

  const Attributes& files_;
  int failed_ = 0;
  int refused_ = 0;  // Without those that the driver does not have
  std::string first_failed_;
  Status failure_;
};

// roce_np/enable/0 to 7; all of them or nothing.
void ReadEnabled(Settings& files, const std::string& point,
                 google::protobuf::RepeatedField<bool>& to) {
  for (std::uint32_t priority = 0; priority < kEcnPriorities; ++priority) {
    const auto enabled = files.Read(Format("{}/enable/{}", point, priority));
    if (!enabled) return to.Clear();
    to.Add(*enabled != 0);
  }
}

void TakeNotificationPoint(std::optional<std::uint32_t> dscp, std::optional<std::uint32_t> priority,
                           std::optional<std::uint32_t> between_us, v1::CongestionControl& to) {
  if (dscp) to.set_cnp_dscp(*dscp);
  if (priority) to.set_cnp_priority(*priority);
  if (between_us) to.set_min_time_between_cnps_us(*between_us);
}

// MLNX_OFED and DOCA: en_sysfs.c, en_ecn.c.
bool ReadOfed(const Subject& subject, v1::CongestionControl& to) {
  constexpr auto kReactionPoint = std::to_array<std::string_view>(
      {"clamp_tgt_rate", "clamp_tgt_rate_after_time_inc", "rpg_time_reset", "rpg_byte_reset",
       "rpg_threshold", "rpg_max_rate", "rpg_ai_rate", "rpg_hai_rate", "rpg_gd", "rpg_min_dec_fac",
       "rpg_min_rate", "rate_to_set_on_first_cnp", "dce_tcp_g", "dce_tcp_rtt",
       "rate_reduce_monitor_period", "initial_alpha_value"});
  const std::string path = "sys/class/net/" + subject.netdev.name() + "/ecn";
  const auto directory = Attributes::Open(subject.host, path, subject.gaps);
  if (!directory.ok()) return false;
  Settings files(*directory);
  ReadEnabled(files, "roce_np", *to.mutable_notification_point_enabled());
  ReadEnabled(files, "roce_rp", *to.mutable_reaction_point_enabled());
  TakeNotificationPoint(files.Read32("roce_np/cnp_dscp"), files.Read32("roce_np/cnp_802p_prio"),
                        files.Read32("roce_np/min_time_between_cnps"), to);
  files.Parameters("roce_rp/", kReactionPoint, to);
  to.set_source(path);
  return true;
}

// The kernel's own driver: drivers/infiniband/hw/mlx5/cong.c. It does not tell the priorities.
Status ReadMlx5Debugfs(const Subject& subject, v1::CongestionControl& to) {
  constexpr auto kParameters = std::to_array<std::string_view>(
      {"rp_clamp_tgt_rate", "rp_clamp_tgt_rate_ati", "rp_time_reset", "rp_byte_reset",
       "rp_threshold", "rp_ai_rate", "rp_max_rate", "rp_hai_rate", "rp_min_dec_fac", "rp_min_rate",
       "rp_rate_to_set_on_first_cnp", "rp_dce_tcp_g", "rp_dce_tcp_rtt",
       "rp_rate_reduce_monitor_period", "rp_initial_alpha_value", "rp_gd", "np_cnp_prio_mode",
       "rtt_resp_dscp_valid", "rtt_resp_dscp"});
  const std::string& address = subject.device.pci_address();
  if (address.empty()) return {Code::kNotFound, "the device's PCI address is unknown"};
  const std::string path = Format("{}/{}/cc_params", kDebugMlx5, address);
  const auto directory = Attributes::Open(subject.host, path, subject.gaps);
  if (!directory.ok()) return directory.status();
  Settings files(*directory);
  TakeNotificationPoint(files.Read32("np_cnp_dscp"), files.Read32("np_cnp_prio"),
                        files.Read32("np_min_time_between_cnps"), to);
  files.Parameters("", kParameters, to);
  to.set_source(path);
  to.set_in_debugfs(true);
  return {};
}

// Broadcom's out-of-tree driver, after the device's directory was created: configfs.c. Reading
// shows what the firmware has; "apply" and "advanced" are for writing.
Status ReadBnxt(const Subject& subject, v1::CongestionControl& to) {
  constexpr auto kParameters = std::to_array<std::string_view>(
      {"cc_mode", "ecn_marking", "disable_prio_vlan_tx", "g", "inact_th", "init_cr", "init_tr",
       "rtt", "min_time_bet_cnp"});
  const std::string path =
      Format("{}/{}/ports/{}/cc", kConfigBnxt, subject.device.name(), subject.port.number());
  const auto directory = Attributes::Open(subject.host, path, subject.gaps);
  if (!directory.ok()) return directory.status();
  Settings files(*directory);
  if (const auto enabled = files.Read("ecn_enable")) to.set_ecn_enabled(*enabled != 0);
  TakeNotificationPoint(files.Read32("cnp_dscp"), files.Read32("cnp_prio"), {}, to);
  if (const auto dscp = files.Read32("roce_dscp")) to.set_roce_dscp(*dscp);
  if (const auto priority = files.Read32("roce_prio")) to.set_roce_priority(*priority);
  files.Parameters("", kParameters, to);
  for (const v1::CongestionParameter& parameter : to.parameters())
    if (parameter.name() == "cc_mode" && parameter.value() <= 1)
      to.set_mode(parameter.value() == 0 ? "dcqcn-d" : "dcqcn-p");
  to.set_source(path);
  // 1: firmware owns priorities and DSCPs. debugfs.c; nothing is missed where it is not to be read.
  constexpr std::string_view kOwner = "fw_service_prof_type_sup";
  const auto info = subject.host.root.Sub(Format("{}/{}", kDebugBnxt, subject.device.name()));
  if (const auto text = info.ok() ? info->Whole("info") : Result<std::string>(info.status());
      text.ok())
    if (const auto owner = InfoValue(*text, kOwner)) AddParameter(kOwner, *owner, to);
  return {};
}

// Intel's out-of-tree driver: configfs.c of a device whose directory was created, else the
// parameters of the module, which hold for all its devices.
Status ReadIrdma(const Subject& subject, v1::CongestionControl& to) {
  constexpr auto kSwitches = std::to_array<std::string_view>(
      {"roce_dcqcn_enable", "roce_dctcp_enable", "roce_timely_enable", "cnp_up_override"});
  constexpr auto kParameters = std::to_array<std::string_view>(
      {"dcqcn_enable", "dcqcn_cc_cfg_valid", "dcqcn_min_dec_factor", "dcqcn_min_rate_MBps",
       "dcqcn_F", "dcqcn_T", "dcqcn_B", "dcqcn_rai_factor", "dcqcn_hai_factor",
       "dcqcn_rreduce_mperiod"});
  std::vector<std::string> sources;
  const auto read = [&](const std::string& path, const auto& names) {
    const auto directory = Attributes::Open(subject.host, path, subject.gaps);
    const int before = to.parameters_size();
    if (directory.ok()) Settings(*directory).Parameters("", names, to);
    if (to.parameters_size() > before) sources.push_back(path);
  };
  read(Format("{}/{}", kConfigIrdma, subject.device.name()), kSwitches);
  read(std::string(kModuleIrdma), kParameters);
  if (sources.empty()) return {Code::kUnimplemented, "only the out-of-tree driver reports it"};
  for (const v1::CongestionParameter& parameter : to.parameters()) {
    if (parameter.name() != "roce_dcqcn_enable" && parameter.name() != "dcqcn_enable") continue;
    to.set_ecn_enabled(parameter.value() != 0);
    if (parameter.value() != 0) to.set_mode("dcqcn");
    break;  // The device's own switch stands before the module's.
  }
  to.set_source(Join(sources, ", "));
  return {};
}

Status ReadIonic(const Subject&, v1::CongestionControl&) {
  return {Code::kUnimplemented, "the driver does not tell; `nicctl show dcqcn` does"};
}

// Where each kind of driver keeps the settings. No row: it has none.
struct Source {
  std::string_view driver;
  std::string_view path;  // For the gap
  Status (*read)(const Subject&, v1::CongestionControl&);
  std::string_view absent;  // Reason when the path does not exist
};
constexpr auto kSources = std::to_array<Source>({
    {"mlx5_core", kDebugMlx5, ReadMlx5Debugfs, "neither this nor MLNX_OFED's ecn/ exists"},
    {"bnxt_en", kConfigBnxt, ReadBnxt,
     "only the out-of-tree driver reports it, after the device's directory was created there"},
    {"ice", kModuleIrdma, ReadIrdma, "only the out-of-tree driver reports it"},
    {"ionic", "nicctl", ReadIonic, ""},
});

// What a driver did not tell, of all its netdevs: one gap for the node.
struct Missing {
  Status status;
  std::vector<std::string> netdevs;
};

void AddMissing(const Source& source, Missing missing, v1::NodeSnapshot& out) {
  std::sort(missing.netdevs.begin(), missing.netdevs.end());
  std::string reason = missing.status.message();
  if (missing.status.code() == Code::kNotFound) reason = source.absent;
  if (missing.status.code() == Code::kPermissionDenied)
    reason = "root's: the capability CAP_DAC_READ_SEARCH is missing";
  AddGap(out, kCongestionControlName, "", source.path,
         Status(missing.status.code(),
                Format("{} (settings of {})", reason, Join(missing.netdevs, ", "))));
}

// The settings, or what kept them from being read; OK and absent where there are none by nature.
Result<std::optional<v1::CongestionControl>> ReadSettings(const Subject& subject,
                                                          const Source* source) {
  v1::CongestionControl settings;
  if (!ReadOfed(subject, settings)) {
    if (source == nullptr) return std::optional<v1::CongestionControl>();
    RETURN_IF_ERROR(source->read(subject, settings));
  }
  std::sort(settings.mutable_parameters()->begin(), settings.mutable_parameters()->end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
  return std::optional(std::move(settings));
}

// By the driver of the RDMA device: a netdev of any driver may carry soft RoCE, which has none.
const Source* SourceOf(const v1::RdmaDevice& device, const v1::NetInterface& netdev) {
  const std::string& driver = device.has_driver() ? device.driver() : netdev.driver();
  const auto found = std::find_if(kSources.begin(), kSources.end(),
                                  [&](const Source& row) { return row.driver == driver; });
  return found == kSources.end() ? nullptr : &*found;
}

Status InspectCongestionControl(const Host& host, v1::NodeSnapshot& out) {
  std::map<const Source*, Missing> missing;
  for (const v1::RdmaDevice& device : out.rdma_devices())
    for (const v1::Port& port : device.ports())
      for (const int index : NetdevsOfRocePort(out, port)) {
        v1::NetInterface& netdev = *out.mutable_net_interfaces(index);
        if (netdev.has_congestion_control()) continue;
        const Gaps gaps{
            .snapshot = out, .inspector = kCongestionControlName, .subject = netdev.name()};
        const Source* const source = SourceOf(device, netdev);
        auto settings = ReadSettings(
            {.host = host, .device = device, .port = port, .netdev = netdev, .gaps = gaps}, source);
        if (settings.ok() && *settings) {
          *netdev.mutable_congestion_control() = **std::move(settings);
        } else if (!settings.ok() && HasOwnSettings(netdev)) {
          missing[source].status = settings.status();
          missing[source].netdevs.push_back(netdev.name());
        }
      }
  for (auto& [source, entry] : missing) AddMissing(*source, std::move(entry), out);
  return {};
}

}  // namespace

extern const Inspector congestion_control = {
    .name = kCongestionControlName,
    .doc = "ECN and DCQCN of RoCE netdevs: enabled priorities, CNPs and parameters.",
    .inspect = InspectCongestionControl,
};

}  // namespace fabric::inspect
