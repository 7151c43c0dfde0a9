// Table of findings, for `findings`, `validate` and `check`. Pure.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <optional>
#include <string>

#include "base/clock.h"
#include "ctl/command.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::ctl {

using Findings = google::protobuf::RepeatedPtrField<v1::Finding>;

struct FindingColumns {
  bool state = false;  // Whether a finding is open or resolved
  // Also rows for findings that another one explains, and one row for each unknown
  bool explained = false;
  std::optional<WallTime> now = {};  // Shows the columns ID and AGE.
};

// Failing before unknown, the most severe first, then by rule and subject. Equal unknowns of
// several ports of a node share a row. The column STATUS is present if a row has a value.
Table FindingTable(const Findings& findings, FindingColumns columns = {});

// The option by which commands set FindingColumns::explained.
inline constexpr Option kExplainedOption = {
    .name = "explained",
    .type = OptionType::kBool,
    .doc = "Include findings that another finding, with a larger scope, explains."};

// The number of rows that FindingTable() omits as explained; empty if none.
std::string ExplainedNote(const Findings& findings);

// "port, interrupts traffic, until reboot"; "nothing: reads only"; "-" without a command.
std::string AffectsCell(const v1::Remedy& remedy);

// State in its lifecycle: "acknowledged by ada, flapping"; "-" if none.
std::string StatusCell(const v1::Finding& finding);

// Open, failing and not silenced.
bool AnyFailing(const Findings& findings);

// The IDs of the findings.
std::vector<std::string> FindingNames(const Findings& findings);

}  // namespace fabric::ctl
