#include "subnet/files/formats.h"

#include "base/text.h"
#include "subnet/files/scanner.h"

namespace fabric::subnet {
namespace {

constexpr const FileFormat* kFormats[] = {
    &kIbnetdiscoverFormat, &kSubnetListFormat, &kDumpLftsFormat, &kFdbsFormat,
    &kSminfoFormat,        &kNdtFormat,        &kTopoFormat,
};

const FileFormat* FormatOf(std::string_view line) {
  for (const FileFormat* const format : kFormats)
    if (format->recognises(line)) return format;
  return nullptr;
}

}  // namespace

const FileFormat* DetectFormat(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const FileFormat* const format = FormatOf(Trim(text.substr(0, end)))) return format;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return nullptr;
}

Status AddFile(const std::string& file, std::string_view text, Builder& builder) {
  if (text.size() > kFileBytesMax)
    return Status(Code::kResourceExhausted, Format("{}: expected at most {} bytes, saw {}", file,
                                                   kFileBytesMax, text.size()));
  const FileFormat* const format = DetectFormat(text);
  if (format == nullptr)
    return Status(Code::kInvalidArgument,
                  Format("{}: expected output of ibnetdiscover, dump_lfts or sminfo, or a dump of "
                         "opensm (opensm-subnet.lst, opensm-lfts.dump, opensm.fdbs), saw {}",
                         file, Quoted(text.substr(0, text.find('\n')))));
  if (format->read == nullptr)
    return Status(Code::kInvalidArgument,
                  Format("{}: expected a file of a subnet, saw a cable plan ({}); use --plan", file,
                         format->name));
  format->read(file, text, builder);
  return {};
}

Result<Subnet> ReadFiles(const std::vector<std::string>& files,
                         const std::function<Result<std::string>(const std::string&)>& read) {
  Builder builder;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::string text, read(file));
    RETURN_IF_ERROR(AddFile(file, text, builder));
  }
  Subnet made = builder.Finish();
  if (!made.Cables().empty()) return made;
  const std::vector<Problem>& problems = made.problems().kept();
  return Status(
      Code::kFailedPrecondition,
      Format("{}: expected at least one cable, saw none: add the output of ibnetdiscover{}",
             Join(files, ", "), problems.empty() ? std::string() : "; " + ToString(problems[0])));
}

}  // namespace fabric::subnet
