// SPDX-License-Identifier: Apache-2.0
//
// labswitch: the switches of a lab, leaves and spines of each rail, over QEMU's "stream" netdev.
//
//   labswitch LEAVES SPINES GUESTS RAIL...
//
// It listens on RAIL.N.sock for guest N of each rail, and on switch.sock for what control.c
// describes. A frame on a socket is its length (4 bytes, big endian) and its bytes. Unix sockets
// have no port numbers, so any number of labs can run at the same time, and a stream loses nothing
// between a guest and the switch. A guest that does not read (because it is frozen) fills only its
// own buffer: the switch then drops frames for that port, as a real switch does.

#define _GNU_SOURCE
#include "labswitch.h"

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

struct fabric fabric;

static int epoll_fd, control_fd;

static void fail(const char *what)
{
    fprintf(stderr, "labswitch: %s: %s\n", what, strerror(errno));
    exit(1);
}

double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void watch(int fd, void *what, int op, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = what};
    if (epoll_ctl(epoll_fd, op, fd, &ev))
        fail("epoll_ctl");
}

static void disconnect(struct port *p)
{
    close(p->fd);
    p->fd = -1;
    p->in_len = p->out_len = 0;
    p->waiting = 0;
    watch(p->listener, p, EPOLL_CTL_ADD, EPOLLIN);
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
        watch(p->fd, p, EPOLL_CTL_MOD, EPOLLIN | (wait ? EPOLLOUT : 0));
    }
}

void send_frame(struct port *to, const unsigned char *frame, size_t len)
{
    if (to->fd < 0 || to->out_len + len > OUT_MAX)
        return;    // no guest, or it does not read: the frame is lost
    memcpy(to->out + to->out_len, frame, len);
    to->out_len += len;
    if (!to->waiting)
        flush(to);
}

// Forwards every complete frame. Returns 0 when the guest has disconnected.
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

static int listen_on(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof addr.sun_path) {
        errno = ENAMETOOLONG;
        fail(path);
    }
    strcpy(addr.sun_path, path);
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof addr) || listen(fd, 8))
        fail(path);
    return fd;
}

// A port has one guest at a time.
static void connect_port(struct port *p)
{
    p->fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    if (p->fd < 0)
        return;
    watch(p->listener, p, EPOLL_CTL_DEL, 0);
    watch(p->fd, p, EPOLL_CTL_ADD, EPOLLIN);
}

// Handles a request. The clients are the lab's programs on this machine.
static void serve_control(void)
{
    static char reply[1 << 20];
    char line[512];
    int fd = accept4(control_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct timeval limit = {.tv_usec = 200000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ssize_t n = recv(fd, line, sizeof line - 1, 0);
    if (n > 0) {
        line[n] = 0;
        answer(line, reply, sizeof reply);
        for (size_t done = 0, len = strlen(reply); done < len;) {
            n = send(fd, reply + done, len - done, MSG_NOSIGNAL);
            if (n <= 0)
                break;
            done += (size_t)n;
        }
    }
    close(fd);
}

static void open_rails(char **names)
{
    for (int r = 0; r < fabric.rails; r++) {
        struct rail *rail = &fabric.rail[r];
        rail->name = names[r];
        for (int n = 1; n <= fabric.ports; n++) {
            char path[108];
            struct port *p = rail->ports[n] = calloc(1, sizeof *p);
            if (!p)
                fail("out of memory");
            snprintf(path, sizeof path, "%s.%d.sock", rail->name, n);
            p->rail = r;
            p->number = n;
            p->fd = -1;
            p->listener = listen_on(path);
            watch(p->listener, p, EPOLL_CTL_ADD, EPOLLIN);
        }
    }
}

static void announce_to_all(void)
{
    for (int r = 0; r < fabric.rails; r++)
        for (int n = 1; n <= fabric.ports; n++)
            announce(fabric.rail[r].ports[n]);
}

static void serve(struct port *p, uint32_t events)
{
    if (p->fd < 0) {
        connect_port(p);
        return;
    }
    if (events & EPOLLOUT)
        flush(p);
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !take(p))
        disconnect(p);
}

static int number(const char *text, int most)
{
    char *end;
    long n = strtol(text, &end, 10);
    return *text && !*end && n >= 1 && n <= most ? (int)n : 0;
}

int main(int argc, char **argv)
{
    if (argc >= 5 && argc <= 4 + RAILS_MAX) {
        fabric.leaves = number(argv[1], LEAVES_MAX);
        fabric.spines = number(argv[2], SPINES_MAX);
        fabric.ports = number(argv[3], PORTS_MAX);
        fabric.rails = argc - 4;
    }
    if (!fabric.leaves || !fabric.spines || !fabric.ports || fabric.leaves > fabric.ports) {
        fprintf(stderr, "usage: labswitch LEAVES SPINES GUESTS RAIL... (at most %d, %d, %d, and %d "
                        "rails; a guest or more for each leaf)\n",
                LEAVES_MAX, SPINES_MAX, PORTS_MAX, RAILS_MAX);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    open_rails(argv + 4);
    control_fd = listen_on("switch.sock");
    watch(control_fd, NULL, EPOLL_CTL_ADD, EPOLLIN);
    printf("ready\n");
    fflush(stdout);
    for (double due_ms = 0;;) {
        if (now_ms() >= due_ms) {
            announce_to_all();
            due_ms = now_ms() + 1000;
        }
        deliver_due();
        int wait = (int)(due_ms - now_ms()) + 1, frame_wait = ms_until_due();
        if (frame_wait >= 0 && frame_wait < wait)
            wait = frame_wait;
        struct epoll_event ev[1];    // one at a time: a port may go away while another is served
        if (epoll_wait(epoll_fd, ev, 1, wait < 0 ? 0 : wait) < 1)
            continue;
        if (ev[0].data.ptr)
            serve(ev[0].data.ptr, ev[0].events);
        else
            serve_control();
    }
}
