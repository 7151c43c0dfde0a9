// SPDX-License-Identifier: Apache-2.0
//
// The path of a frame, and the loss, delay and corruption of its links.

#include <stdlib.h>
#include <string.h>

#include "labswitch.h"

// A delayed frame.
struct late {
    struct late *next;
    double due_ms;
    struct port *to;
    size_t len;
    unsigned char frame[];
};

static struct late *late_frames;    // The next one first

int leaf_of(int port_number)
{
    return (port_number - 1) * fabric.leaves / fabric.ports + 1;
}

// FNV-1a
static uint32_t hash(uint32_t seed, const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        seed = (seed ^ bytes[i]) * 16777619u;
    return seed;
}

// Flow hash as in switches: addresses, protocol and ports of IPv4 with UDP or TCP, else the
// Ethernet addresses. `frame` has no prefix.
static uint32_t flow_hash(const unsigned char *frame, size_t len)
{
    enum { IP = 14, PROTOCOL = IP + 9, ADDRESSES = IP + 12 };
    uint32_t h = 2166136261u;
    int is_ip = len >= IP + 24 && frame[12] == 8 && frame[13] == 0 && frame[IP] == 0x45;
    if (!is_ip) {
        h = hash(h, frame, 12);
    } else {
        h = hash(h, frame + ADDRESSES, 8);
        h = hash(h, frame + PROTOCOL, 1);
        if (frame[PROTOCOL] == 17 || frame[PROTOCOL] == 6)
            h = hash(h, frame + IP + 20, 4);
    }
    h ^= h >> 16;    // The low bits of FNV alone spread flows badly.
    h *= 0x45d9f3bu;
    return h ^ h >> 16;
}

static double percent(void)
{
    return 100.0 * rand() / (RAND_MAX + 1.0);
}

// DSCP of an IPv4 frame without prefix; -1: another protocol
static int dscp_of(const unsigned char *frame, size_t len)
{
    enum { IP = 14 };
    return len >= IP + 20 && frame[12] == 8 && frame[13] == 0 ? frame[IP + 1] >> 2 : -1;
}

// Accumulated effects of links on a frame.
struct trip {
    int dscp;
    double delay_ms;
    int corrupt;
};

// Applies the effects of one link. Returns 0 when the frame is lost.
static int pass(struct link *link, enum direction direction, size_t len, struct trip *trip)
{
    struct way *way = &link->way[direction];
    way->frames++;
    way->bytes += len - PREFIX;
    if (way->of_dscp && way->dscp != trip->dscp)
        return 1;
    if (way->cut || (way->loss_percent > 0 && percent() < way->loss_percent)) {
        way->lost++;
        return 0;
    }
    if (way->corrupt_percent > 0 && percent() < way->corrupt_percent) {
        way->corrupted++;
        trip->corrupt = 1;
    }
    trip->delay_ms += way->delay_ms;
    return 1;
}

static void put_late(struct port *to, const unsigned char *frame, size_t len, double due_ms)
{
    struct late *late = malloc(sizeof *late + len);
    if (!late)
        return;    // One frame is lost.
    late->due_ms = due_ms;
    late->to = to;
    late->len = len;
    memcpy(late->frame, frame, len);
    struct late **at = &late_frames;
    while (*at && (*at)->due_ms <= due_ms)
        at = &(*at)->next;
    late->next = *at;
    *at = late;
}

void deliver_due(void)
{
    while (late_frames && late_frames->due_ms <= now_ms()) {
        struct late *late = late_frames;
        late_frames = late->next;
        send_frame(late->to, late->frame, late->len);
        free(late);
    }
}

int ms_until_due(void)
{
    if (!late_frames)
        return -1;
    double left = late_frames->due_ms - now_ms();
    return left > 0 ? (int)left + 1 : 0;
}

// Changes a bit after the headers that a switch reads. Only the receiver's checksums can detect it.
static void spoil(unsigned char *frame, size_t len)
{
    enum { FIRST = PREFIX + 54 };
    if (len > FIRST)
        frame[FIRST + (size_t)rand() % (len - FIRST)] ^= (unsigned char)(1 << rand() % 8);
}

static void deliver(struct port *from, struct port *to, const unsigned char *frame, size_t len,
                    struct trip trip)
{
    struct rail *rail = &fabric.rail[from->rail];
    int near = leaf_of(from->number), far = leaf_of(to->number);
    if (near != far) {
        int spine = (int)(flow_hash(frame + PREFIX, len - PREFIX) % (unsigned)fabric.spines) + 1;
        if (!pass(&rail->uplinks[near][spine], UP, len, &trip) ||
            !pass(&rail->uplinks[far][spine], DOWN, len, &trip))
            return;
    }
    if (!pass(&to->link, DOWN, len, &trip))
        return;
    unsigned char spoiled[PREFIX + FRAME_MAX];
    if (trip.corrupt) {
        memcpy(spoiled, frame, len);
        spoil(spoiled, len);
        frame = spoiled;
    }
    if (trip.delay_ms > 0)
        put_late(to, frame, len, now_ms() + trip.delay_ms);
    else
        send_frame(to, frame, len);
}

// Frames to 01:80:c2:00:00:00 to 0f are for the switch itself and are not forwarded.
static int is_for_us(const unsigned char *dst)
{
    static const unsigned char reserved[] = {0x01, 0x80, 0xc2, 0, 0};
    return memcmp(dst, reserved, sizeof reserved) == 0 && dst[5] < 16;
}

// `frame` starts with its length prefix.
void forward(struct port *from, const unsigned char *frame, size_t len)
{
    const unsigned char *dst = frame + PREFIX, *src = dst + 6;
    if (len < PREFIX + 14 || is_for_us(dst))
        return;
    struct trip trip = {dscp_of(dst, len - PREFIX), 0, 0};
    if (!(src[0] & 1)) {
        memcpy(from->mac, src, 6);
        from->mac_known = 1;
    }
    if (!pass(&from->link, UP, len, &trip))
        return;
    struct rail *rail = &fabric.rail[from->rail];
    for (int n = 1; !(dst[0] & 1) && n <= fabric.ports; n++) {
        struct port *to = rail->ports[n];
        if (to->mac_known && memcmp(to->mac, dst, 6) == 0) {
            if (to != from)
                deliver(from, to, frame, len, trip);
            return;
        }
    }
    for (int n = 1; n <= fabric.ports; n++)
        if (rail->ports[n] != from)
            deliver(from, rail->ports[n], frame, len, trip);
}
