// Files that describe a subnet. Each reader uses the lines that it can parse and adds one problem
// for each of the others. Pure: texts come in.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fabric/v1/subnet.pb.h"
#include "subnet/builder.h"

namespace fabric::subnet {

inline constexpr std::size_t kFileBytesMax = std::size_t{256} << 20;

struct FileFormat {
  std::string_view name;
  std::string_view made_by;  // Command that writes such a file
  // Whether a line (trimmed) is typical of the format and of no other.
  bool (*recognises)(std::string_view line);
  // nullptr: a cable plan, see plan.h
  void (*read)(const std::string& file, std::string_view text, Builder& builder);
  // A reading of all cables. Of two readings of one subnet, one is used (files/readings.h).
  bool lists_cables = false;
};

extern const FileFormat kSnapshotFormat;       // fabric-agent subnet read
extern const FileFormat kIbnetdiscoverFormat;  // Topology
extern const FileFormat kSubnetListFormat;     // opensm-subnet.lst
extern const FileFormat kDumpLftsFormat;       // Forwarding tables
extern const FileFormat kFdbsFormat;           // opensm.fdbs
extern const FileFormat kSminfoFormat;
extern const FileFormat kNodeNameMapFormat;  // Names by GUID, of opensm and infiniband-diags
extern const FileFormat kNdtFormat;          // Cable plan
extern const FileFormat kTopoFormat;         // Cable plan

// The format of the first typical line; nullptr if there is none.
const FileFormat* DetectFormat(std::string_view text);

// Adds a file, after which the builder is finished. INVALID_ARGUMENT with the file if its format is
// unknown or it is a plan, RESOURCE_EXHAUSTED above kFileBytesMax.
Status AddFile(const std::string& file, std::string_view text, Builder& builder);

// Adds a subnet that was read live. `name` stands in problems and sources.
void AddSnapshot(const std::string& name, const v1::SubnetSnapshot& snapshot, Builder& builder);

// Combines the files of one subnet. `read` returns the text of a file. A file of another format is
// a problem. FAILED_PRECONDITION without a cable.
Result<Subnet> ReadFiles(const std::vector<std::string>& files,
                         const std::function<Result<std::string>(const std::string&)>& read);

}  // namespace fabric::subnet
