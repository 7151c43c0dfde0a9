// Probe kinds: the arms of ProbeSpec.kind and their options. The functions accept every message
// with such a oneof. Pure.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/v1/options.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric {

using ProbeArm = google::protobuf::FieldDescriptor;

// In order of declaration
std::vector<const ProbeArm*> ProbeArms(
    const google::protobuf::Descriptor& spec = *v1::ProbeSpec::descriptor());

const v1::ProbeKindOptions& OptionsOf(const ProbeArm& arm);

// nullptr: no kind is set.
const ProbeArm* ProbeArmOf(const google::protobuf::Message& spec);
// The settings of the kind; nullptr: no kind is set.
const google::protobuf::Message* ProbeSettingsOf(const google::protobuf::Message& spec);
// Defaults without a kind
const v1::ProbeKindOptions& ProbeOptionsOf(const google::protobuf::Message& spec);
v1::Measure MeasureOf(const google::protobuf::Message& spec);

// Fields with a flag in fabricctl, one for each name of a flag, in order of declaration.
std::vector<const google::protobuf::FieldDescriptor*> FieldsWithFlags(
    const google::protobuf::Descriptor& spec = *v1::ProbeSpec::descriptor());
// The field of the kind that has the flag; nullptr: the kind does not have it.
const google::protobuf::FieldDescriptor* FieldOfFlag(const google::protobuf::Descriptor& kind,
                                                     std::string_view flag);

// A number in the settings of a probe kind. If it is 0, its default.
std::uint32_t NumberOf(const google::protobuf::Message& settings, std::string_view field);

// Sets the kind with default settings, which are returned.
google::protobuf::Message& SetProbeKind(const ProbeArm& arm, google::protobuf::Message& spec);

}  // namespace fabric
