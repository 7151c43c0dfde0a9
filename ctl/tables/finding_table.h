// Findings as rows: `findings`, `validate` and `node` print them alike. Pure.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <string>

#include "ctl/command.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::ctl {

using Findings = google::protobuf::RepeatedPtrField<v1::Finding>;

struct FindingColumns {
  bool state = false;  // Whether a finding is open or resolved
  // Rows of those, too, that another one of them explains, and of each unknown by itself.
  bool explained = false;
};

// Failing before unknown, the most severe first, then by rule and subject. Unknowns of several
// ports of a node that read alike are one row. What has happened to them in their lives is a column
// when there is any.
Table FindingTable(const Findings& findings, FindingColumns columns = {});

// The option by which commands set FindingColumns::explained.
inline constexpr Option kExplainedOption = {
    .name = "explained",
    .type = OptionType::kBool,
    .doc = "Also each finding that another one, at a larger scope, explains."};

// Says how many rows FindingTable() leaves out as explained; empty when none.
std::string ExplainedNote(const Findings& findings);

// What there is to say of its life: "acknowledged by ada, flapping"; "-" when nothing is.
std::string LifeCell(const v1::Finding& finding);

// Open, failing and not silenced.
bool AnyFailing(const Findings& findings);

// Of each finding its id.
std::vector<std::string> FindingNames(const Findings& findings);

}  // namespace fabric::ctl
