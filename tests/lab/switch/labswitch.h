// SPDX-License-Identifier: Apache-2.0
//
// The parts of labswitch. Each rail is a fabric of its own: guests hang on leaf switches, every
// leaf is joined with every spine switch. What a guest sends takes one path, chosen by the hash of
// its flow, and each link on it may lose, delay, corrupt or cut what goes up (from the guests
// towards the spines) or down.
#ifndef LABSWITCH_H
#define LABSWITCH_H

#include <stddef.h>
#include <stdint.h>

enum {
    FRAME_MAX = 65536,
    PREFIX = 4,    // of each frame on a socket: its length, big endian
    OUT_MAX = 1 << 20,
    RAILS_MAX = 8,
    LEAVES_MAX = 16,
    SPINES_MAX = 16,
    PORTS_MAX = 100,    // of a rail: one for each guest
};

enum direction { UP, DOWN };

// One link in one direction.
struct way {
    double loss_percent, corrupt_percent, delay_ms;
    int cut;
    uint64_t frames, bytes, lost, corrupted;
};

struct link {
    struct way way[2];    // By direction
};

struct port {
    int rail, number;    // From 0 and from 1: guest n3 is port 3 of each rail.
    int listener, fd;    // fd is -1 while no guest is connected.
    unsigned char mac[6];
    int mac_known;
    struct link link;    // To the guest
    unsigned char in[PREFIX + FRAME_MAX];
    size_t in_len;
    unsigned char out[OUT_MAX];    // What the guest has not taken yet
    size_t out_len;
    int waiting;    // Asked to be told when it takes more
};

struct rail {
    const char *name;
    struct port *ports[PORTS_MAX + 1];    // By number
    struct link uplinks[LEAVES_MAX + 1][SPINES_MAX + 1];    // By leaf and spine, from 1
};

struct fabric {
    int rails, leaves, spines, ports;
    struct rail rail[RAILS_MAX];
};

extern struct fabric fabric;

// labswitch.c: gives the frame, with its prefix, to the guest. Lost when the guest does not read.
void send_frame(struct port *to, const unsigned char *frame, size_t len);
double now_ms(void);

// paths.c
int leaf_of(int port_number);    // From 1; guests are spread in blocks: n1 n2 | n3 n4
void forward(struct port *from, const unsigned char *frame, size_t len);
void deliver_due(void);    // Frames whose delay is over
int ms_until_due(void);    // -1: none waits

// lldp.c
void announce(struct port *to);

// control.c: answers one line, with lines that end with an empty one.
void answer(char *line, char *reply, size_t size);

#endif
