#include <chrono>

#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/finding_table.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Duration kResolvedPollInterval = std::chrono::seconds(1);

constexpr Option kFindingShowOptions[] = {
    {.name = "ID",
     .value = "ID",
     .doc = "ID of the finding, as in `findings`, or a unique prefix.",
     .required = true},
    {.name = "wait",
     .type = OptionType::kBool,
     .doc = "Wait until the finding is resolved, such as after a repair. Exits with 1 if it "
            "expired, so that the state is unknown."}};

std::string_view ActionText(v1::FindingAction action) {
  switch (action) {
    case v1::FINDING_ACTION_OPENED: return "opened";
    case v1::FINDING_ACTION_CHANGED: return "changed";
    case v1::FINDING_ACTION_ACKNOWLEDGED: return "acknowledged";
    case v1::FINDING_ACTION_SILENCED: return "silenced";
    case v1::FINDING_ACTION_UNSILENCED: return "silence ended";
    case v1::FINDING_ACTION_RESOLVED: return "resolved";
    default: return kAbsent;  // An action of a newer controller
  }
}

std::string StateText(const v1::Finding& finding) {
  if (finding.state() == v1::FINDING_STATE_RESOLVED)
    return Format("resolved since {}", ToString(finding.resolved_at()));
  std::string text = Format("open since {}", ToString(finding.opened_at()));
  if (finding.flapping())
    text += Format(", flapping: opened {} times in the last minutes", finding.openings());
  return text;
}

std::string Lines(const v1::Finding& finding) {
  const bool unknown = finding.verdict() == v1::VERDICT_UNKNOWN;
  std::string lines = Format("Finding:      {}\n", finding.id());
  lines += Format("Rule:         {}\n", Cell(finding.rule()));
  lines += Format("Severity:     {}\n", unknown ? "unknown" : Cell(Name(finding.severity())));
  lines += Format("Subject:      {}\n", SubjectName(finding.subject()));
  lines += Format("What:         {}\n", Cell(finding.title()));
  lines += Format("State:        {}\n", StateText(finding));
  if (!finding.expired_reason().empty())
    lines += Format("Expired:      {}\n", finding.expired_reason());
  if (finding.has_acknowledged()) {
    const v1::Acknowledgement& said = finding.acknowledged();
    lines +=
        Format("Acknowledged: by {} at {}: {}\n", said.author(), ToString(said.at()), said.note());
  }
  if (finding.has_silenced() && finding.state() == v1::FINDING_STATE_OPEN) {
    const v1::Silence& silence = finding.silenced();
    lines += Format("Silenced:     by {} until {}: {} ({})\n", silence.author(),
                    ToString(silence.until()), silence.reason(), silence.id());
  }
  if (!finding.explained_by().empty())
    lines += Format("Explained by: {}\n", finding.explained_by());
  for (const std::string& other : finding.explains()) lines += Format("Explains:     {}\n", other);
  return lines;
}

Table EvidenceTable(const v1::Finding& finding) {
  Table table{.title = "Evidence",
              .columns = {{.title = "WHAT", .elastic = true},
                          {.title = "EXPECTED"},
                          {.title = "SEEN"},
                          {.title = "BECAUSE"},
                          {.title = "READ FROM"},
                          {.title = "READ AT"}},
              .empty_note = "No evidence."};
  for (const v1::Evidence& item : finding.evidence())
    table.rows.push_back({Cell(item.what()), Cell(item.expected()), Cell(item.seen()),
                          Cell(item.basis()), Cell(item.source()), ToString(item.read_at())});
  return table;
}

std::string InterruptsText(const v1::Remedy& remedy) {
  if (!remedy.interrupts().empty()) return remedy.interrupts();
  return remedy.interrupts_traffic() ? "traffic" : "nothing";
}

std::string RebootText(const v1::Remedy& remedy) {
  if (remedy.persistence() == v1::REMEDY_PERSISTENCE_PERMANENT) return "survives it";
  if (remedy.persistence() != v1::REMEDY_PERSISTENCE_UNTIL_REBOOT) return "not stated";
  return Format("reverts it; to keep it: {}", remedy.persist());
}

std::string RemedyLines(const v1::Remedy& remedy) {
  if (remedy.command().empty()) return Format("- {}\n", Cell(remedy.note()));
  std::string lines = Format("- {}\n", remedy.command());
  if (remedy.platform() != "any") lines += Format("  Platform:   {}\n", remedy.platform());
  if (!remedy.host().empty()) lines += Format("  Type it on: {}\n", remedy.host());
  lines += Format("  Affects:    {}\n", AffectsCell(remedy));
  if (remedy.affects() != v1::REMEDY_REACH_NOTHING) {
    lines += Format("  Interrupts: {}\n", InterruptsText(remedy));
    lines += Format("  Reboot:     {}\n", RebootText(remedy));
    lines += Format("  Undo:       {}\n", remedy.undo().empty() ? "not stated" : remedy.undo());
  }
  if (!remedy.note().empty()) lines += Format("  Note:       {}\n", remedy.note());
  return lines;
}

std::string Remedies(const v1::Finding& finding) {
  if (finding.remedies().empty()) return "\nNo remedies.\n";
  std::string text = "\nRemedies\n";
  for (const v1::Remedy& remedy : finding.remedies()) text += RemedyLines(remedy);
  return text;
}

Table HistoryTable(const v1::GetFindingResponse& response) {
  Table table{.title = "History",
              .columns = {{.title = "AT"},
                          {.title = "EVENT"},
                          {.title = "BY"},
                          {.title = "NOTE"},
                          {.title = "TITLE", .wide_only = true}},
              .empty_note = "No history."};
  for (const v1::FindingRecord& record : response.history())
    table.rows.push_back({ToString(record.at()), std::string(ActionText(record.action())),
                          Cell(record.author()), Cell(record.note()), Cell(record.title())});
  return table;
}

Result<Output> RunFindingShow(Client& client, const Arguments& arguments, Stream& stream) {
  v1::GetFindingRequest request;
  request.set_id(arguments.Text("ID"));
  ASSIGN_OR_RETURN(v1::GetFindingResponse response, client.Call<v1::GetFindingResponse>(request));
  // Not the prefix of the ID, which can match another finding later.
  request.set_id(response.finding().id());
  while (arguments.Bool("wait") && response.finding().state() != v1::FINDING_STATE_RESOLVED) {
    stream.Progress(Format("finding {}: {}", request.id(), StateText(response.finding())));
    if (!stream.Wait(kResolvedPollInterval))
      return Status(Code::kCancelled, Format("interrupted; finding {} is open", request.id()));
    ASSIGN_OR_RETURN(response, client.Call<v1::GetFindingResponse>(request));
  }
  Output output;
  output.before = Lines(response.finding());
  // Expired: the fault can still be there.
  if (arguments.Bool("wait") && !response.finding().expired_reason().empty())
    output.exit_status = kExitFindings;
  output.tables.push_back(EvidenceTable(response.finding()));
  output.tables.push_back(HistoryTable(response));
  output.after = Remedies(response.finding());
  output.names.push_back(response.finding().id());
  output.message = std::make_unique<v1::GetFindingResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command finding_show = {
    .path = "finding show",
    .summary = "Show a finding with its evidence, remedies and history.",
    .description =
        "Also shows resolved findings that are still stored. Expired means that the node is lost, "
        "or has not reported its settings for minutes, so the current state is unknown. Each "
        "remedy states where to type it, what it affects and interrupts, whether it survives a "
        "reboot, and how to undo it.",
    .example =
        "fabricctl finding show 6d1f\n"
        "fabricctl finding show 6d1f --wait\n"
        "fabricctl finding show 6d1f -o yaml",
    .options = kFindingShowOptions,
    .run = RunFindingShow,
    .watch = true,
};

}  // namespace fabric::ctl
