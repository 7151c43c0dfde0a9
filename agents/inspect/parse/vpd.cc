#include "agents/inspect/parse/vpd.h"

#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr unsigned char kLargeResource = 0x80;
constexpr unsigned char kIdentifier = 0x82;
constexpr unsigned char kReadOnlyFields = 0x90;
constexpr unsigned char kReadWriteFields = 0x91;
constexpr unsigned char kEndTag = 0x0f;

unsigned char At(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// Text is padded with blanks or NUL bytes. Unprintable bytes are not vendor text.
std::optional<std::string> TextOf(std::string_view value) {
  value = value.substr(0, value.find('\0'));
  value = Trim(value);
  if (value.empty()) return std::nullopt;
  for (const char c : value)
    if (c < ' ' || c > '~') return std::nullopt;
  return std::string(value);
}

// A list of fields: two letters, one byte of length, the value.
void TakeFields(std::string_view fields, VitalProductData& vpd) {
  constexpr std::size_t kHeaderBytes = 3;
  while (fields.size() >= kHeaderBytes) {
    const std::string_view keyword = fields.substr(0, 2);
    const std::size_t size = At(fields, 2);
    if (fields.size() < kHeaderBytes + size) return;
    const std::string_view value = fields.substr(kHeaderBytes, size);
    fields.remove_prefix(kHeaderBytes + size);
    if (keyword == "PN" && !vpd.part_number) vpd.part_number = TextOf(value);
    if (keyword == "SN" && !vpd.serial_number) vpd.serial_number = TextOf(value);
    if (value.find("SMDL=SW_MNG") != std::string_view::npos) vpd.nvswitch_management = true;
  }
}

}  // namespace

Result<VitalProductData> ParseVpd(std::string_view bytes) {
  VitalProductData vpd;
  bool any = false;
  while (!bytes.empty()) {
    const unsigned char tag = At(bytes, 0);
    if ((tag & kLargeResource) == 0) {
      const std::size_t size = tag & 0x07U;
      if (tag >> 3 == kEndTag || bytes.size() < 1 + size || tag == 0) break;
      bytes.remove_prefix(1 + size);
      continue;
    }
    if (bytes.size() < 3) break;
    const std::size_t size = At(bytes, 1) | std::size_t{At(bytes, 2)} << 8;
    if (bytes.size() < 3 + size) break;
    const std::string_view resource = bytes.substr(3, size);
    bytes.remove_prefix(3 + size);
    if (tag == kIdentifier) vpd.product = TextOf(resource);
    if (tag == kReadOnlyFields || tag == kReadWriteFields) TakeFields(resource, vpd);
    any = any || tag == kIdentifier || tag == kReadOnlyFields;
  }
  if (!any) return Status(Code::kInvalidArgument, "expected vital product data of PCI");
  return vpd;
}

}  // namespace fabric::inspect
