// Display names of enumerators, subjects and rates, for tables and messages: "ACTIVE", "LinkUp",
// "RoCE v2". JSON uses the enumerator names. An unset or unknown value is "?".
#pragma once

#include <string>
#include <string_view>

#include "fabric/v1/finding.pb.h"
#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric {

std::string_view Name(v1::PortState state);      // ACTIVE
std::string_view Name(v1::PhysicalState state);  // LinkUp
std::string_view Name(v1::LinkLayer layer);      // InfiniBand, Ethernet
std::string_view Name(v1::Protocol protocol);    // InfiniBand, RoCE, iWARP
std::string_view Name(v1::GidType type);         // IB, RoCE v1, RoCE v2
std::string_view Name(v1::NodeType type);        // CA, RNIC
std::string_view Name(v1::OperState state);      // up, down
std::string_view Name(v1::Trust trust);          // pcp, dscp
std::string_view Name(v1::Verdict verdict);      // PASS, FAIL, UNKNOWN
std::string_view Name(v1::Severity severity);    // info, warning, error, critical
std::string_view Name(v1::Scope scope);          // port, device, node, rail, fleet
std::string_view Name(v1::RemedyReach reach);    // port, NIC, node, subnet
std::string_view Name(v1::FindingState state);   // open, resolved
std::string_view Name(v1::ProbeStatus status);   // ok, refused, timed out
std::string_view Name(v1::CampaignState state);  // running, done, cancelled
std::string_view Name(v1::GapCode code);         // NOT_FOUND
std::string_view Name(v1::StorageKind kind);     // NFS over RDMA

// "rc_write_latency", the name of the oneof arm; empty when none is set.
std::string_view ProbeKindName(const v1::ProbeSpec& spec);

// "n1/rxe0/1", "n1/rail0", "n1", "rail 0", "switch leaf1", "fleet": the subject for tables. A
// link is shown as the port of its host.
std::string SubjectName(const v1::Subject& subject);

// "100 Gb/s", "2.5 Gb/s", "14.7 Mb/s": three significant digits, powers of 1000.
std::string BitRate(double bits_per_second);

}  // namespace fabric
