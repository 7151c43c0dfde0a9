#include "agents/probe/endpoints.h"

namespace fabric::probe {

v1::ProbeEndpoint ToProto(const host::Endpoint& endpoint) {
  v1::ProbeEndpoint proto;
  for (std::size_t n = 0; n < endpoint.queue_pairs.size(); ++n) {
    const host::Endpoint::QueuePair& pair = endpoint.queue_pairs[n];
    if (n == 0) {
      proto.set_queue_pair_number(pair.number);
      proto.set_packet_sequence_number(pair.packet_sequence_number);
      continue;
    }
    v1::QueuePairAddress& further = *proto.add_further_queue_pairs();
    further.set_number(pair.number);
    further.set_packet_sequence_number(pair.packet_sequence_number);
  }
  proto.set_queue_key(endpoint.queue_key);
  proto.set_gid(endpoint.gid);
  proto.set_gid_index(endpoint.gid_index);
  proto.set_lid(endpoint.lid);
  proto.set_active_mtu_bytes(endpoint.active_mtu_bytes);
  proto.set_remote_address(endpoint.remote_address);
  proto.set_remote_key(endpoint.remote_key);
  proto.set_memory_bytes(endpoint.memory_bytes);
  proto.set_outstanding_reads(endpoint.outstanding_reads);
  return proto;
}

host::Endpoint FromProto(const v1::ProbeEndpoint& proto) {
  host::Endpoint endpoint{
      .queue_pairs = {{.number = proto.queue_pair_number(),
                       .packet_sequence_number = proto.packet_sequence_number()}},
      .queue_key = proto.queue_key(),
      .gid = proto.gid(),
      .gid_index = proto.gid_index(),
      .lid = proto.lid(),
      .active_mtu_bytes = proto.active_mtu_bytes(),
      .remote_address = proto.remote_address(),
      .remote_key = proto.remote_key(),
      .memory_bytes = proto.memory_bytes(),
      .outstanding_reads = proto.outstanding_reads()};
  for (const v1::QueuePairAddress& pair : proto.further_queue_pairs())
    endpoint.queue_pairs.push_back(
        {.number = pair.number(), .packet_sequence_number = pair.packet_sequence_number()});
  return endpoint;
}

}  // namespace fabric::probe
