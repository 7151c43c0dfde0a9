// Vital product data of PCI, which is whatever a maker wrote into an EEPROM.
#include <string_view>

#include "agents/host/printable.h"
#include "agents/inspect/parse/vpd.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto vpd = fabric::inspect::ParseVpd(bytes);
  if (!vpd.ok()) return 0;
  for (const auto& text : {vpd->product, vpd->part_number, vpd->serial_number})
    Check(!text || (!text->empty() && fabric::host::IsText(*text)), "what is there is text");
  return 0;
}
