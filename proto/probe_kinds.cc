#include "proto/probe_kinds.h"

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

}  // namespace fabric
