// SPDX-License-Identifier: Apache-2.0
//
// Switches of a lab. Each rail is a separate fabric: guests are connected to leaf switches, and
// every leaf to every spine switch. The hash of its flow selects the path of a frame. Each link can
// lose, delay, corrupt or cut frames in each direction: up (towards the spines) or down.
#ifndef LABSWITCH_H
#define LABSWITCH_H

#include <stddef.h>
#include <stdint.h>

enum {
  FRAME_MAX = 65536,
  PREFIX = 4,  // bytes of a frame's length on a socket, big endian
  OUT_MAX = 1 << 20,
  RAILS_MAX = 8,
  LEAVES_MAX = 16,
  SPINES_MAX = 16,
  PORTS_MAX = 100,  // ports of a rail, one for each guest
};

enum direction { UP, DOWN };

// One link in one direction.
struct way {
  double loss_percent, corrupt_percent, delay_ms;
  int cut;
  int of_dscp, dscp;  // If of_dscp, all of these act on IPv4 frames with this DSCP only.
  uint64_t frames, bytes, lost, corrupted;
};

struct link {
  struct way way[2];  // By direction
};

struct port {
  int rail, number;  // From 0 and from 1: guest n3 is port 3 of each rail.
  int listener, fd;  // fd is -1 while no guest is connected.
  unsigned char mac[6];
  int mac_known;
  struct link link;  // To the guest
  unsigned char in[PREFIX + FRAME_MAX];
  size_t in_len;
  unsigned char out[OUT_MAX];  // Data that the guest has not read yet
  size_t out_len;
  int waiting;  // Waits until the guest can receive (EPOLLOUT)
};

struct rail {
  const char* name;
  struct port* ports[PORTS_MAX + 1];                    // By number
  struct link uplinks[LEAVES_MAX + 1][SPINES_MAX + 1];  // By leaf and spine, from 1
};

struct fabric {
  int rails, leaves, spines, ports;
  struct rail rail[RAILS_MAX];
};

extern struct fabric fabric;

// labswitch.c: sends a frame, with its prefix, to the guest. It is lost if the guest does not read.
void send_frame(struct port* to, const unsigned char* frame, size_t len);
double now_ms(void);

// paths.c
int leaf_of(int port_number);  // From 1; guests are spread in blocks: n1 n2 | n3 n4
void forward(struct port* from, const unsigned char* frame, size_t len);
void deliver_due(void);  // Sends frames whose delay has ended
int ms_until_due(void);  // -1: no frame waits

// lldp.c
void announce(struct port* to);

// control.c: answers a request. The answer ends with an empty line.
void answer(char* line, char* reply, size_t size);

#endif
