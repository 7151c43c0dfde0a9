// Parsers of agents/inspect: every input goes to all of them, as what a file might hold.
#include <string>
#include <string_view>

#include "agents/inspect/counter_tables/counter_table.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/parse/parse_net.h"
#include "agents/inspect/parse/route_texts.h"
#include "agents/inspect/parse/storage_texts.h"
#include "agents/inspect/pci_models.h"
#include "agents/inspect/pci_place.h"
#include "agents/inspect/report/lossless_text.h"
#include "agents/inspect/report/pci_text.h"
#include "proto/routes.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

namespace fabric::inspect {
namespace {

void TryRate(std::string_view text) {
  const Result<Rate> rate = ParseRate(text);
  if (!rate.ok()) return;
  Check(rate->bps > 0 && rate->width >= 1 && rate->width <= 12, "a rate has bits and lanes");
}

void TryGid(std::string_view text) {
  const Result<std::string> gid = ParseGid(text);
  if (!gid.ok()) return;
  Check(*ParseGid(*gid) == *gid, "a GID that was taken is taken again");
  Check(!IsLinkLocalGid(*gid) || Ipv4OfGid(*gid).empty(), "link-local is not IPv4-mapped");
}

void TryCounter(std::string_view text) {
  for (const char* name : {"port_xmit_data", "symbol_error", "of_a_later_kernel"}) {
    const Result<v1::Counter> counter = ParsePortCounter(name, text);
    Check(!counter.ok() || counter->name() == name, "a counter keeps its name");
  }
}

void TryEnumerations(std::string_view text) {
  const auto state = ParsePortState(text);
  Check(!state.ok() || v1::PortState_IsValid(*state), "a port state of the schema");
  const auto physical = ParsePhysicalState(text);
  Check(!physical.ok() || v1::PhysicalState_IsValid(*physical), "a physical state of the schema");
  const auto type = ParseNodeType(text);
  Check(!type.ok() || v1::NodeType_IsValid(*type), "a node type of the schema");
  (void)ParseLinkLayer(text).ok();
  (void)ParseProtocol(text).ok();
  (void)ParseOperState(text).ok();
  (void)ParseTrust(text).ok();
  (void)ParseGidType(text, v1::LINK_LAYER_ETHERNET).ok();
}

void TryTexts(std::string_view text) {
  const auto guid = ParseGuidText(text);
  Check(!guid.ok() || guid->size() == text.size(), "a GUID keeps its length");
  (void)ParseMac(text).ok();
  (void)ParseHex(text).ok();
  (void)UeventValue(text, "PCI_SLOT_NAME");
  (void)ModuleIsLive(text, "nvidia_peermem");
  v1::CounterSet set;
  for (const v1::CounterSource source : {kHw, kEthtool, kDcb}) {
    v1::Counter& counter = *set.add_counters();
    counter.set_name("of the text");
    if (IsPlainName(text)) counter.set_name(std::string(text));
    counter.set_source(source);
  }
  for (const CounterTable* table : AllCounterTables()) NameCounters(table, set);
  (void)IsPlainName(text);
}

void TryPci(std::string_view text) {
  const auto place = PlaceInPath(text);
  Check(!place || !place->root_complex.empty(), "a place is below a root complex");
  const auto width = ParsePciWidth(text);
  Check(!width.ok() || *width != 255, "255 lanes are none");
  const auto window = ParseLargestWindow(text);
  Check(!window.ok() || *window != 1, "a window of one byte is none");
  const auto version = ParseNvidiaVersion(text);
  Check(!version.ok() || version->version.find('.') != std::string::npos, "a version has a dot");
  (void)ParsePciSpeed(text).ok();
  (void)ParseAerTotal(text).ok();
  (void)NvidiaField(text, "Model");
  (void)ModuleUsers(text, "ib_core");
  (void)ParseKernelVersion(text);
}

void TryLossless(std::string_view text) {
  for (const std::size_t rows : {std::size_t{8}, std::size_t{64}}) {
    const auto table = ParsePriorityTable(text, rows);
    if (!table.ok()) continue;
    Check(table->size() == rows, "a table is whole");
    for (const std::uint32_t priority : *table) Check(priority < 8, "there are 8 priorities");
  }
  const auto sizes = ParseBufferSizes(text);
  Check(!sizes.ok() || sizes->size_bytes.size() == 8, "there are 8 buffers");
  const auto rates = ParseMaxRates(text);
  Check(!rates.ok() || rates->size() == 8, "there are 8 traffic classes");
  const auto traffic_class = ParseTrafficClass(text);
  Check(!traffic_class.ok() || traffic_class->global.value_or(0) <= 255, "a ToS is a byte");
  (void)ParseSetting(text).ok();
  (void)ParseStallPrevention(text).ok();
  (void)InfoValue(text, "fw_service_prof_type_sup");
  (void)CongestionUnit(text);
}

void TryRoutes(std::string_view text) {
  const TableNames names = ParseTableNames(text);
  for (const bool ipv6 : {false, true}) {
    for (const v1::IpRoute& route : ParseIpRoutes(text, ipv6, names))
      Check(ParseIpPrefix(route.destination()).has_value(), "a destination is a prefix");
    (void)ParseIpRules(text, ipv6, names);
  }
  (void)ParseIpNeighbors(text);
  for (const auto& routes : {ParseProcRoutes(text), ParseProcRoutes6(text)})
    for (const v1::IpRoute& route : routes)
      Check(ParseIpPrefix(route.destination()).has_value(), "a destination is a prefix");
  (void)ParseProcArp(text);
  v1::StorageUse use;
  ApplyNvmeAddress(text, use);
  for (const auto& uses : {StorageOfMounts(text), StorageOfLnet(text)})
    for (const v1::StorageUse& found : uses)
      Check(found.kind() != v1::STORAGE_KIND_UNSPECIFIED, "a use has a kind");
  (void)CufileAddresses(text);
}

void TryNetdevTexts(std::string_view text) {
  for (const std::string& netdev : DefaultRouteNetdevs(text))
    Check(IsPlainName(netdev), "a netdev of a route has a name");
  for (const VlanLine& vlan : ParseVlanConfig(text))
    Check(vlan.id < 4096 && IsPlainName(vlan.lower), "a VLAN has an id and a netdev below it");
  const auto priorities = EgressPriorities(ParseVlanEgress(text));
  Check(priorities.empty() || priorities.size() == 8, "eight priorities or no map");
  (void)IsRepresentorPort(text);
  (void)FirstWord(text);
  const auto id = ParsePciId(text);
  Check(!id || id->size() == 4, "a PCI id has four digits");
  (void)FindModelOfHcaType(text);
}

}  // namespace
}  // namespace fabric::inspect

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fabric::inspect::TryRate(text);
  fabric::inspect::TryGid(text);
  fabric::inspect::TryCounter(text);
  fabric::inspect::TryEnumerations(text);
  fabric::inspect::TryTexts(text);
  fabric::inspect::TryLossless(text);
  fabric::inspect::TryPci(text);
  fabric::inspect::TryNetdevTexts(text);
  fabric::inspect::TryRoutes(text);
  return 0;
}
