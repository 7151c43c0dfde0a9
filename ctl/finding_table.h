// Findings as rows: `findings`, `validate` and `node` print them alike. Pure.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "ctl/command.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::ctl {

using Findings = google::protobuf::RepeatedPtrField<v1::Finding>;

// Failing before unknown, the most severe first, then by rule and subject. With `with_state` a
// column says whether a finding is open or resolved. What has happened to them in their lives is a
// column when there is any.
Table FindingTable(const Findings& findings, bool with_state);

// What there is to say of its life: "acknowledged by ada, flapping"; "-" when nothing is.
std::string LifeCell(const v1::Finding& finding);

// Open, failing and not silenced.
bool AnyFailing(const Findings& findings);

// Of each finding its id.
std::vector<std::string> FindingNames(const Findings& findings);

}  // namespace fabric::ctl
