#include "daemon/snapshot_diff/field_kinds.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/priority_mask.h"
#include "base/text.h"
#include "fabric/v1/inventory.pb.h"
#include "proto/names.h"

namespace fabric::snapshot_diff {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

struct Row {
  std::string_view field;  // "Message.field"
  FieldKind kind;
};
constexpr Row kRows[] = {
    {"NodeIdentity.name", FieldKind::kIdentity},
    {"NodeIdentity.machine_id", FieldKind::kIdentity},
    {"NodeIdentity.boot_id", FieldKind::kIdentity},
    {"NodeSnapshot.captured", FieldKind::kLeftOut},
    {"NodeSnapshot.counters", FieldKind::kCounter},
    {"NodeSnapshot.kernel_log", FieldKind::kCounter},
    {"RdmaDevice.node_guid", FieldKind::kIdentity},
    {"RdmaDevice.sys_image_guid", FieldKind::kIdentity},
    {"RdmaDevice.node_description", FieldKind::kIdentity},
    {"RdmaDevice.serial_number", FieldKind::kIdentity},
    {"Port.port_guid", FieldKind::kIdentity},
    {"Port.lid", FieldKind::kIdentity},
    {"Gid.gid", FieldKind::kIdentity},
    {"Gid.ipv4", FieldKind::kIdentity},
    {"Gid.ipv6", FieldKind::kIdentity},
    {"NetInterface.mac", FieldKind::kIdentity},
    {"NetInterface.index", FieldKind::kIdentity},
    {"NetInterface.addresses", FieldKind::kIdentity},
    {"NetInterface.carrier_down_count", FieldKind::kCounter},
    {"Gpu.uuid", FieldKind::kIdentity},
    {"PciFunction.iommu_group", FieldKind::kIdentity},
    {"PciFunction.aer_correctable", FieldKind::kCounter},
    {"PciFunction.aer_nonfatal", FieldKind::kCounter},
    {"PciFunction.aer_fatal", FieldKind::kCounter},
    {"LldpNeighbor.chassis_id", FieldKind::kIdentity},
    {"LldpNeighbor.port_id", FieldKind::kIdentity},
    {"LldpNeighbor.port_description", FieldKind::kIdentity},
    {"LldpNeighbor.system_name", FieldKind::kIdentity},
    {"LldpNeighbor.management_addresses", FieldKind::kIdentity},
    {"LldpNeighbor.link_aggregation_port_id", FieldKind::kIdentity},
    {"LldpNeighbor.ttl_s", FieldKind::kLeftOut},
    {"Gap.reason", FieldKind::kLeftOut},  // May contain times
    {"HostFacts.rdma_stack_reason", FieldKind::kLeftOut},
    {"HugePages.free", FieldKind::kLeftOut},
    {"TimeSync.offset_seconds", FieldKind::kLeftOut},
    {"TimeSync.max_error_seconds", FieldKind::kLeftOut},
    {"JobView.pid", FieldKind::kIdentity},
    {"JobView.network_namespace", FieldKind::kIdentity},
    {"JobView.pod_uid", FieldKind::kIdentity},
    {"JobView.cgroup", FieldKind::kIdentity},
};

// Keys of elements without a field "name".
struct Key {
  std::string_view message;
  std::string_view first, second = {}, third = {};
};
constexpr Key kKeys[] = {
    {"Port", "number"},
    {"Gid", "index"},
    {"Gpu", "pci_address"},
    {"PciFunction", "address"},
    {"GpuNicPath", "gpu", "device"},
    {"LldpNeighbor", "netdev"},
    {"HugePages", "page_bytes", "numa_node"},
    {"AppEntry", "selector", "protocol"},
    {"LldpApp", "selector", "protocol"},
    {"Gap", "inspector", "subject", "path"},
    {"JobDevice", "path"},
};

using Kinds = std::unordered_map<const FieldDescriptor*, FieldKind>;

Kinds MakeKinds() {
  Kinds kinds;
  const auto& pool = *v1::NodeSnapshot::descriptor()->file()->pool();
  for (const Row& row : kRows) {
    const auto* const field = pool.FindFieldByName(Format("fabric.v1.{}", row.field));
    if (field != nullptr) kinds.emplace(field, row.kind);
  }
  return kinds;
}

std::string EnumText(const EnumValueDescriptor& value) {
  const std::string_view type = value.type()->name();
  const int number = value.number();
  std::string_view name = "?";
  if (type == "PortState") name = Name(static_cast<v1::PortState>(number));
  if (type == "PhysicalState") name = Name(static_cast<v1::PhysicalState>(number));
  if (type == "LinkLayer") name = Name(static_cast<v1::LinkLayer>(number));
  if (type == "Protocol") name = Name(static_cast<v1::Protocol>(number));
  if (type == "GidType") name = Name(static_cast<v1::GidType>(number));
  if (type == "NodeType") name = Name(static_cast<v1::NodeType>(number));
  if (type == "OperState") name = Name(static_cast<v1::OperState>(number));
  if (type == "Trust") name = Name(static_cast<v1::Trust>(number));
  if (type == "GapCode") name = Name(static_cast<v1::GapCode>(number));
  if (name != "?") return std::string(name);
  // "PCI_DISTANCE_PIX" of PciDistance becomes "pix".
  std::size_t prefix = 0;
  for (std::size_t i = 0; i < type.size(); ++i)
    prefix += i > 0 && std::isupper(static_cast<unsigned char>(type[i])) != 0 ? 2 : 1;
  std::string text = value.name().size() > prefix ? value.name().substr(prefix + 1) : value.name();
  for (char& c : text) c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<int>(c)));
  return text;
}

bool IsKey(const FieldDescriptor& field) {
  for (const Key& each : kKeys)
    if (each.message == field.containing_type()->name())
      return field.name() == each.first || field.name() == each.second ||
             field.name() == each.third;
  return field.name() == "name";
}

using Types = std::unordered_map<const Descriptor*, std::vector<Field>>;

void AddType(const Descriptor& type, Types& types) {
  if (!types.try_emplace(&type).second) return;
  std::vector<Field> fields;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    fields.push_back({.descriptor = &field, .kind = KindOf(field), .key = IsKey(field)});
    if (field.message_type() != nullptr) AddType(*field.message_type(), types);
  }
  types[&type] = std::move(fields);
}

}  // namespace

FieldKind KindOf(const FieldDescriptor& field) {
  static const Kinds kKinds = MakeKinds();
  const auto found = kKinds.find(&field);
  if (found != kKinds.end()) return found->second;
  const auto* const type = field.message_type();
  const bool moment = type != nullptr && type->full_name() == "google.protobuf.Timestamp";
  return moment ? FieldKind::kLeftOut : FieldKind::kSetting;
}

std::string KeyOf(const Message& element) {
  const auto& type = *element.GetDescriptor();
  const auto add = [&](std::string_view name, std::string& key) {
    const FieldDescriptor* const field = type.FindFieldByName(std::string(name));
    if (name.empty() || field == nullptr) return;
    if (field->has_presence() && !element.GetReflection()->HasField(element, field)) return;
    const std::string text = ValueText(element, *field, -1);
    if (!text.empty()) key += (key.empty() ? "" : " ") + text;
  };
  std::string key;
  for (const Key& each : kKeys) {
    if (each.message != type.name()) continue;
    add(each.first, key);
    add(each.second, key);
    add(each.third, key);
    return key;
  }
  add("name", key);
  return key;
}

const std::vector<Field>& FieldsOf(const Descriptor& type) {
  static const Types kTypes = [] {
    Types types;
    AddType(*v1::NodeSnapshot::descriptor(), types);
    return types;
  }();
  static const std::vector<Field> kNone;
  const auto found = kTypes.find(&type);
  return found == kTypes.end() ? kNone : found->second;
}

std::string ValueText(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool listed = index >= 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return (listed ? reflection.GetRepeatedBool(message, &field, index)
                     : reflection.GetBool(message, &field))
                 ? "true"
                 : "false";
    case FieldDescriptor::CPPTYPE_STRING:
      return listed ? reflection.GetRepeatedString(message, &field, index)
                    : reflection.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return EnumText(listed ? *reflection.GetRepeatedEnum(message, &field, index)
                             : *reflection.GetEnum(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Format("{}", reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_INT32: return Format("{}", reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return Format("{}", listed ? reflection.GetRepeatedUInt64(message, &field, index)
                                 : reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32: {
      const std::uint32_t number = listed ? reflection.GetRepeatedUInt32(message, &field, index)
                                          : reflection.GetUInt32(message, &field);
      if (field.name() == "enabled_mask") return ToText(PriorityMask(number));
      return field.name() == "pkeys" ? Format("0x{:04x}", number) : Format("{}", number);
    }
    default: return {};
  }
}

}  // namespace fabric::snapshot_diff
