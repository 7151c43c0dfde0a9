// SPDX-License-Identifier: Apache-2.0
//
// LLDP frames of a leaf (IEEE 802.1AB), with the TLVs of 802.1Qaz (00-80-C2) and 802.3 (00-12-0F).
// The DCBX settings are those of the lab's healthy nodes: PFC for priority 3, RoCE in priority 3.

#include <stdio.h>
#include <string.h>

#include "labswitch.h"

static unsigned char *tlv(unsigned char *at, int type, const void *value, int len)
{
    *at++ = (unsigned char)(type << 1 | len >> 8);
    *at++ = (unsigned char)len;
    memcpy(at, value, (size_t)len);
    return at + len;
}

static unsigned char *text_tlv(unsigned char *at, int type, const char *text)
{
    return tlv(at, type, text, (int)strlen(text));
}

void announce(struct port *to)
{
    if (to->link.way[DOWN].cut && !to->link.way[DOWN].of_dscp)
        return;
    unsigned char leaf = (unsigned char)leaf_of(to->number), rail = (unsigned char)to->rail;
    // 4: a MAC address
    const unsigned char chassis[] = {4, 0x52, 0x54, 0, 0xfc, rail, leaf}, ttl[] = {0, 4};
    static const unsigned char vlan[] = {0, 0x80, 0xc2, 1, 0, 1};
    static const unsigned char frame_max[] = {0, 0x12, 0x0f, 4, 0x24, 0};
    static const unsigned char pfc[] = {0, 0x80, 0xc2, 11, 8, 1 << 3};
    static const unsigned char ets[] = {0, 0x80, 0xc2, 9, 0, 0x01, 0x23, 0x45, 0x67,
                                        12, 13, 12, 13, 12, 13, 12, 13, 2, 2, 2, 2, 2, 2, 2, 2};
    static const unsigned char app[] = {0, 0x80, 0xc2, 12, 0, 3 << 5 | 3, 4791 >> 8, 4791 & 0xff};
    unsigned char frame[PREFIX + 512] = {0, 0, 0, 0, 0x01, 0x80, 0xc2, 0, 0, 0x0e,
                                         0x52, 0x54, 0, 0xfd, rail, (unsigned char)to->number,
                                         0x88, 0xcc};
    char port[32], what[64], name[64];
    snprintf(port, sizeof port, "%cswp%d", 5, to->number);    // 5: the name of an interface
    snprintf(what, sizeof what, "%.32s port %d", fabric.rail[to->rail].name, to->number);
    snprintf(name, sizeof name, "%.32s-leaf%d", fabric.rail[to->rail].name, leaf);
    unsigned char *at = frame + PREFIX + 14;
    at = tlv(at, 1, chassis, sizeof chassis);
    at = text_tlv(at, 2, port);
    at = tlv(at, 3, ttl, sizeof ttl);
    at = text_tlv(at, 4, what);
    at = text_tlv(at, 5, name);
    at = tlv(at, 127, vlan, sizeof vlan);
    at = tlv(at, 127, frame_max, sizeof frame_max);
    at = tlv(at, 127, ets, sizeof ets);
    at = tlv(at, 127, pfc, sizeof pfc);
    at = tlv(at, 127, app, sizeof app);
    at = text_tlv(at, 0, "");
    size_t len = (size_t)(at - frame) - PREFIX;
    frame[2] = (unsigned char)(len >> 8);
    frame[3] = (unsigned char)len;
    send_frame(to, frame, PREFIX + len);
}
