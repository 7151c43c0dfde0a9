# Copies the schema FROM a folder TO another one and adds a field, a message and a probe kind.
function(insert file line added)
  file(READ ${FROM}/fabric/v1/${file} text)
  if(EXISTS ${TO}/fabric/v1/${file})
    file(READ ${TO}/fabric/v1/${file} text)
  endif()
  string(REPLACE "${line}\n" "${line}\n${added}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${file}: no line '${line}'")
  endif()
  file(WRITE ${TO}/fabric/v1/${file} "${changed}")
endfunction()

file(REMOVE_RECURSE ${TO})
insert(inventory.proto "message NetInterface {" [[
  optional uint32 transmit_queue_length = 1000
      [(column) = {title: "TX QUEUE" unit: "packets"},
       (metric) = {name: "fabric_netdev_transmit_queue_length"
                   help: "Length of the transmit queue."}];
]])
insert(inventory.proto "message NodeSnapshot {" [[
  repeated Fan fans = 1000 [(section) = "Fans"];
]])
insert(inventory.proto "package fabric.v1;" [[
message Fan {
  string name = 1 [(column) = {title: "FAN" place: 1}];
  optional uint32 speed_rpm = 2 [(column) = {title: "SPEED" place: 2 unit: "rpm"}];
}
]])
insert(probe.proto "  oneof kind {" [[
    OneWrite one_write = 1000 [(probe_kind) = {measure: MEASURE_BANDWIDTH word: "write"}];
]])
insert(probe.proto "package fabric.v1;" [[
message OneWrite {
  uint32 delay_us = 1 [(probe_flag) = {name: "delay" form: PROBE_FLAG_FORM_MICROSECONDS
                                       doc: "Time before the write."}];
}
]])
