// SPDX-License-Identifier: Apache-2.0
//
// labswitch: one learning Ethernet switch for each rail of a lab, over QEMU's "stream" netdev.
//
//   labswitch SOCKET...
//
// Each SOCKET is a unix socket and a segment of its own; each guest that connects is a port of it.
// A frame on the socket is its length (4 bytes, big endian) and its bytes. Why unix sockets: they
// have no port number, so that any number of labs run side by side; a stream loses nothing between
// a guest and the switch, and one that is not read (a frozen guest) only fills its own buffer: the
// switch drops frames for that port, as a real one does, and everybody else goes on.
//
// Each second the switch announces itself to every port by LLDP, with the DCBX settings that the
// lab's healthy nodes have: PFC for priority 3, RoCE in priority 3.

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { FRAME_MAX = 65536, PREFIX = 4, OUT_MAX = 1 << 20, MACS = 1024, SEGMENTS = 16 };

struct port {
    int fd;    // a listening socket has listening != 0
    int listening;
    int segment;
    int number;    // of its segment, from 1
    struct port *next;    // of the same segment
    unsigned char in[PREFIX + FRAME_MAX];
    size_t in_len;
    unsigned char *out;    // what the guest has not taken yet
    size_t out_len;
    int waiting;    // asked to be told when it takes more
};

struct mac {
    unsigned char addr[6];
    struct port *port;
};

static struct port *ports[SEGMENTS];
static struct mac macs[SEGMENTS][MACS];
static int last_number[SEGMENTS];
static int epoll_fd;

static void fail(const char *what)
{
    fprintf(stderr, "labswitch: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct mac *slot(int segment, const unsigned char *addr)
{
    unsigned hash = addr[5] + 31u * addr[4] + 961u * addr[3];
    for (unsigned i = 0; i < 8; i++) {
        struct mac *m = &macs[segment][(hash + i) % MACS];
        if (!m->port || memcmp(m->addr, addr, 6) == 0)
            return m;
    }
    return &macs[segment][hash % MACS];    // full here: the new address takes the place
}

static void watch(struct port *p, int op)
{
    struct epoll_event ev = {.events = EPOLLIN | (p->waiting ? EPOLLOUT : 0), .data.ptr = p};
    if (epoll_ctl(epoll_fd, op, p->fd, &ev))
        fail("epoll_ctl");
}

static void drop_port(struct port *p)
{
    for (struct port **at = &ports[p->segment]; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    for (int i = 0; i < MACS; i++)
        if (macs[p->segment][i].port == p)
            macs[p->segment][i].port = NULL;
    close(p->fd);
    free(p->out);
    free(p);
}

static void flush(struct port *p)
{
    size_t done = 0;
    while (done < p->out_len) {
        ssize_t n = send(p->fd, p->out + done, p->out_len - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            break;    // an error shows when the port is read
        done += (size_t)n;
    }
    p->out_len -= done;
    memmove(p->out, p->out + done, p->out_len);
    int wait = p->out_len > 0;
    if (wait != p->waiting) {
        p->waiting = wait;
        watch(p, EPOLL_CTL_MOD);
    }
}

static void send_frame(struct port *p, const unsigned char *frame, size_t len)
{
    if (p->out_len + len > OUT_MAX)
        return;    // the guest does not read: this frame is lost
    memcpy(p->out + p->out_len, frame, len);
    p->out_len += len;
    if (!p->waiting)
        flush(p);
}

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

// IEEE 802.1AB, with the TLVs of 802.1Qaz (00-80-C2) and 802.3 (00-12-0F).
static void announce(struct port *p)
{
    static const unsigned char chassis[] = {4, 0x52, 0x54, 0, 0xfc, 0, 0}, ttl[] = {0, 4};
    static const unsigned char vlan[] = {0, 0x80, 0xc2, 1, 0, 1};
    static const unsigned char frame_max[] = {0, 0x12, 0x0f, 4, 0x24, 0};
    static const unsigned char pfc[] = {0, 0x80, 0xc2, 11, 8, 1 << 3};
    static const unsigned char ets[] = {0, 0x80, 0xc2, 9, 0, 0x01, 0x23, 0x45, 0x67,
                                        12, 13, 12, 13, 12, 13, 12, 13, 2, 2, 2, 2, 2, 2, 2, 2};
    static const unsigned char app[] = {0, 0x80, 0xc2, 12, 0, 3 << 5 | 3, 4791 >> 8, 4791 & 0xff};
    unsigned char frame[PREFIX + 512] = {0, 0, 0, 0, 0x01, 0x80, 0xc2, 0, 0, 0x0e,
                                         0x52, 0x54, 0, 0xfc, (unsigned char)p->segment,
                                         (unsigned char)p->number, 0x88, 0xcc};
    char port[32], what[64];
    snprintf(port, sizeof port, "%cswp%d", 5, p->number);    // 5: the name of an interface
    snprintf(what, sizeof what, "rail%d port %d", p->segment, p->number);
    unsigned char *at = frame + PREFIX + 14;
    at = tlv(at, 1, chassis, sizeof chassis);
    at = text_tlv(at, 2, port);
    at = tlv(at, 3, ttl, sizeof ttl);
    at = text_tlv(at, 4, what);
    at = text_tlv(at, 5, "labswitch");
    at = tlv(at, 127, vlan, sizeof vlan);
    at = tlv(at, 127, frame_max, sizeof frame_max);
    at = tlv(at, 127, ets, sizeof ets);
    at = tlv(at, 127, pfc, sizeof pfc);
    at = tlv(at, 127, app, sizeof app);
    at = text_tlv(at, 0, "");
    size_t len = (size_t)(at - frame) - PREFIX;
    frame[2] = (unsigned char)(len >> 8);
    frame[3] = (unsigned char)len;
    send_frame(p, frame, PREFIX + len);
}

// Announces each second. Returns the milliseconds until the next time.
static int announce_when_due(void)
{
    static long long due_ms;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long now_ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
    if (now_ms >= due_ms) {
        for (int i = 0; i < SEGMENTS; i++)
            for (struct port *p = ports[i]; p; p = p->next)
                announce(p);
        due_ms = now_ms + 1000;
    }
    return (int)(due_ms - now_ms);
}

// 01:80:c2:00:00:00 to 0f are for the switch itself, and are not passed on.
static int is_for_us(const unsigned char *dst)
{
    static const unsigned char reserved[] = {0x01, 0x80, 0xc2, 0, 0};
    return memcmp(dst, reserved, sizeof reserved) == 0 && dst[5] < 16;
}

// `frame` starts with its length prefix.
static void forward(struct port *from, const unsigned char *frame, size_t len)
{
    const unsigned char *dst = frame + PREFIX, *src = dst + 6;
    if (len < PREFIX + 14)
        return;
    if (is_for_us(dst))
        return;
    if (!(src[0] & 1)) {
        struct mac *m = slot(from->segment, src);
        memcpy(m->addr, src, 6);
        m->port = from;
    }
    if (!(dst[0] & 1)) {
        struct mac *m = slot(from->segment, dst);
        if (m->port && memcmp(m->addr, dst, 6) == 0) {
            if (m->port != from)
                send_frame(m->port, frame, len);
            return;
        }
    }
    for (struct port *p = ports[from->segment]; p; p = p->next)
        if (p != from)
            send_frame(p, frame, len);
}

// Forwards every whole frame that has come. Returns 0 when the port is gone.
static int take(struct port *p)
{
    ssize_t n = recv(p->fd, p->in + p->in_len, sizeof p->in - p->in_len, MSG_DONTWAIT);
    if (n <= 0)
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    p->in_len += (size_t)n;
    size_t at = 0;
    while (p->in_len - at >= PREFIX) {
        const unsigned char *f = p->in + at;
        size_t len = (size_t)f[0] << 24 | (size_t)f[1] << 16 | (size_t)f[2] << 8 | f[3];
        if (len > FRAME_MAX)
            return 0;
        if (p->in_len - at < PREFIX + len)
            break;
        forward(p, f, PREFIX + len);
        at += PREFIX + len;
    }
    p->in_len -= at;
    memmove(p->in, p->in + at, p->in_len);
    return 1;
}

static struct port *new_port(int fd, int segment, int listening)
{
    struct port *p = calloc(1, sizeof *p);
    if (!p || !(p->out = malloc(listening ? 1 : OUT_MAX)))
        fail("out of memory");
    p->fd = fd;
    p->segment = segment;
    p->listening = listening;
    watch(p, EPOLL_CTL_ADD);
    return p;
}

static void listen_on(const char *path, int segment)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof addr.sun_path) {
        errno = ENAMETOOLONG;
        fail(path);
    }
    strcpy(addr.sun_path, path);
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof addr) || listen(fd, 64))
        fail(path);
    new_port(fd, segment, 1);
}

static void accept_port(const struct port *listener)
{
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct port *p = new_port(fd, listener->segment, 0);
    p->number = ++last_number[p->segment];
    p->next = ports[p->segment];
    ports[p->segment] = p;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 1 + SEGMENTS) {
        fprintf(stderr, "usage: labswitch SOCKET... (1 to %d)\n", SEGMENTS);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 1; i < argc; i++)
        listen_on(argv[i], i - 1);
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        struct epoll_event ev[1];    // one at a time: a port may go away while another is served
        if (epoll_wait(epoll_fd, ev, 1, announce_when_due()) < 1)
            continue;
        struct port *p = ev[0].data.ptr;
        if (p->listening) {
            accept_port(p);
            continue;
        }
        if (ev[0].events & EPOLLOUT)
            flush(p);
        if ((ev[0].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !take(p))
            drop_port(p);
    }
}
