#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/blame_lines.h"
#include "ctl/tables/cells.h"
#include "proto/coverage.h"

namespace fabric::ctl {
namespace {

constexpr double kPercent = 100;

std::string Microseconds(bool present, double us) {
  return present ? Format("{:.1f} µs", us) : std::string(kAbsent);
}

// Loss of the pings that are not voided.
std::string LossCell(const v1::MeshLeafPair& pair) {
  if (pair.sent() <= pair.voided()) return std::string(kAbsent);
  return Format("{:.2f} %", kPercent * static_cast<double>(pair.lost()) /
                                static_cast<double>(pair.sent() - pair.voided()));
}

Table PairsTable(const v1::MeshStatus& mesh) {
  Table table{.columns = {{.title = "FROM"},
                          {.title = "TO"},
                          {.title = "RAIL", .right_aligned = true},
                          {.title = "PAIRS", .right_aligned = true},
                          {.title = "FLOWS", .right_aligned = true},
                          {.title = "SENT", .right_aligned = true},
                          {.title = "LOST", .right_aligned = true},
                          {.title = "LOSS", .right_aligned = true},
                          {.title = "VOIDED", .wide_only = true, .right_aligned = true},
                          {.title = "MEDIAN", .right_aligned = true},
                          {.title = "P99", .right_aligned = true}},
              .empty_note = "No results yet."};
  for (const v1::MeshLeafPair& pair : mesh.leaf_pairs())
    table.rows.push_back({Cell(pair.from_leaf()), Cell(pair.to_leaf()), std::to_string(pair.rail()),
                          std::to_string(pair.port_pairs()), std::to_string(pair.flows()),
                          std::to_string(pair.sent()), std::to_string(pair.lost()), LossCell(pair),
                          std::to_string(pair.voided()),
                          Microseconds(pair.has_median_us(), pair.median_us()),
                          Microseconds(pair.has_p99_us(), pair.p99_us())});
  return table;
}

std::string HeadLine(const v1::MeshStatus& mesh) {
  if (!mesh.enabled()) return mesh.reason() + "\n";
  return Format(
      "{}, {:.1f} pings/s, {} counted; {} between two leaves, covered by {} with 99 % "
      "probability\n",
      Plural(mesh.ports(), "port"), mesh.pings_per_second(), Plural(mesh.windows(), "window"),
      Plural(mesh.paths_per_leaf_pair(), "path"), Plural(mesh.flow_labels_per_leaf_pair(), "flow"));
}

// The mesh with all pairs of leaves.
Result<v1::MeshStatus> WholeMesh(Client& client) {
  v1::GetMeshRequest request;
  ASSIGN_OR_RETURN(v1::MeshStatus mesh, client.Call<v1::MeshStatus>(request));
  while (!mesh.next_page_token().empty() && mesh.next_page_token() != request.page_token()) {
    request.set_page_token(mesh.next_page_token());
    ASSIGN_OR_RETURN(const v1::MeshStatus page, client.Call<v1::MeshStatus>(request));
    mesh.mutable_leaf_pairs()->MergeFrom(page.leaf_pairs());
    mesh.set_next_page_token(page.next_page_token());
  }
  mesh.clear_next_page_token();
  return mesh;
}

Result<Output> RunMesh(Client& client, const Arguments&, Stream&) {
  ASSIGN_OR_RETURN(v1::MeshStatus mesh, WholeMesh(client));
  Output output;
  output.before = HeadLine(mesh);
  if (mesh.enabled()) output.tables.push_back(PairsTable(mesh));
  for (const v1::CoverageGap& gap : mesh.not_covered())
    output.after += Format("not covered: {}\n", ToString(gap));
  if (mesh.windows() > 0) output.after += BlameLines(mesh.blame());
  const bool blamed = mesh.blame().suspects_size() + mesh.blame().undecided_size() > 0;
  output.exit_status = blamed ? kExitFindings : kExitOk;
  output.message = std::make_unique<v1::MeshStatus>(std::move(mesh));
  return output;
}

}  // namespace

extern const Command mesh = {
    .path = "mesh",
    .summary = "Show the results of the continuous pings (the mesh) between leaf switches.",
    .description =
        "FROM and TO are switch names from LLDP, or - if unknown; the same name twice means within "
        "that leaf. SENT and LOST count about the last minute. LOSS excludes voided pings; VOIDED "
        "(-o wide) counts pings that a slow host delayed. MEDIAN is the round-trip time in the "
        "network. Exits with 1 if the mesh locates a fault.",
    .example =
        "fabricctl mesh\n"
        "fabricctl mesh --watch --interval 10s",
    .run = RunMesh,
    .watch = true,
};

}  // namespace fabric::ctl
