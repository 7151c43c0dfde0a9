#include "proto/probe_kinds.h"

#include <set>

namespace fabric {

using google::protobuf::Descriptor;
using google::protobuf::Message;

std::vector<const ProbeArm*> ProbeArms(const Descriptor& spec) {
  const auto* const kinds = spec.FindOneofByName("kind");
  std::vector<const ProbeArm*> arms;
  for (int n = 0; n < kinds->field_count(); ++n) arms.push_back(kinds->field(n));
  return arms;
}

const v1::ProbeKindOptions& OptionsOf(const ProbeArm& arm) {
  return arm.options().GetExtension(v1::probe_kind);
}

const ProbeArm* ProbeArmOf(const Message& spec) {
  return spec.GetReflection()->GetOneofFieldDescriptor(
      spec, spec.GetDescriptor()->FindOneofByName("kind"));
}

const Message* ProbeSettingsOf(const Message& spec) {
  const ProbeArm* const arm = ProbeArmOf(spec);
  return arm == nullptr ? nullptr : &spec.GetReflection()->GetMessage(spec, arm);
}

const v1::ProbeKindOptions& ProbeOptionsOf(const Message& spec) {
  const ProbeArm* const arm = ProbeArmOf(spec);
  return arm == nullptr ? v1::ProbeKindOptions::default_instance() : OptionsOf(*arm);
}

v1::Measure MeasureOf(const Message& spec) {
  return ProbeOptionsOf(spec).measure();
}

Message& SetProbeKind(const ProbeArm& arm, Message& spec) {
  return *spec.GetReflection()->MutableMessage(&spec, &arm);
}

std::uint32_t NumberOf(const Message& settings, std::string_view field) {
  const auto& known = *settings.GetDescriptor()->FindFieldByName(std::string(field));
  const std::uint32_t number = settings.GetReflection()->GetUInt32(settings, &known);
  return number == 0 ? known.options().GetExtension(v1::zero_means) : number;
}

std::vector<const google::protobuf::FieldDescriptor*> FieldsWithFlags(
    const google::protobuf::Descriptor& spec) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  std::set<std::string_view> names;
  for (const ProbeArm* const arm : ProbeArms(spec)) {
    const google::protobuf::Descriptor& kind = *arm->message_type();
    for (int i = 0; i < kind.field_count(); ++i) {
      const std::string& name = kind.field(i)->options().GetExtension(v1::probe_flag).name();
      if (!name.empty() && names.insert(name).second) fields.push_back(kind.field(i));
    }
  }
  return fields;
}

const google::protobuf::FieldDescriptor* FieldOfFlag(const google::protobuf::Descriptor& kind,
                                                     std::string_view flag) {
  for (int i = 0; i < kind.field_count(); ++i)
    if (kind.field(i)->options().GetExtension(v1::probe_flag).name() == flag) return kind.field(i);
  return nullptr;
}

}  // namespace fabric
