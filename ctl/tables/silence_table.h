// Table of silences. Pure.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "ctl/command.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::ctl {

Table SilenceTable(const google::protobuf::RepeatedPtrField<v1::Silence>& silences);

// "rule mtu_equal_on_rail, node n2"
std::string SilencedText(const v1::Silence& silence);

}  // namespace fabric::ctl
