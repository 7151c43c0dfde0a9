// SPDX-License-Identifier: Apache-2.0
//
// labd: process 1 of a lab guest. It runs the commands that `lab exec` sends and reaps orphans.
// ("labd load MODULE..." only loads kernel modules.)
//
// The channel is a set of virtio serial ports, /dev/vport*p*, named lab.0, lab.1, ...: it works
// with every network card down. One port carries one command at a time; the host locks a port
// before it uses it, so concurrent calls take different ports. Each port has one worker here.
//
// Frames, both ways: type (1 byte), length (4 bytes, big endian, at most FRAME_MAX), data.
//   host to guest: H hello (16 bytes, sent back), A argument vector (each ended by a NUL),
//                  I standard input, E end of standard input
//   guest to host: H hello, O standard output, R standard error, S exit status (1 byte)
// A zero byte where a type is expected is skipped. The host starts a conversation with FRAME_MAX+5
// zero bytes, which complete a frame that a killed predecessor sent in part. In the other
// direction, the host skips everything up to the answer to its hello.

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAME_MAX = 4096, HEADER = 5, HELLO = 16, ARGV_MAX = 65536, DRAIN_MS = 100 };

struct command {
    pid_t pid;     // 0: none
    int in;        // write end of its standard input, or -1
    int out[2];    // read ends of its standard output and error, or -1
    int exited;    // has been waited for
    int status;    // exit status as a shell reports it
};

struct port {
    int fd;
    unsigned char buf[HEADER + FRAME_MAX];
    size_t have;
    char argv[ARGV_MAX];    // argument strings, collected over several A frames
    size_t argv_len;
};

static void send_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {    // no host is connected
            usleep(10000);
            return;
        }
        p += n;
        len -= (size_t)n;
    }
}

static void send_frame(int fd, char type, const void *data, size_t len)
{
    unsigned char frame[HEADER + FRAME_MAX];
    frame[0] = (unsigned char)type;
    frame[1] = 0;
    frame[2] = 0;
    frame[3] = (unsigned char)(len >> 8);
    frame[4] = (unsigned char)len;
    memcpy(frame + HEADER, data, len);
    send_all(fd, frame, HEADER + len);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

// Ends the command of this conversation and all its children.
static void stop(struct command *c)
{
    close_fd(&c->in);
    close_fd(&c->out[0]);
    close_fd(&c->out[1]);
    if (c->pid && !c->exited) {
        kill(-c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    c->pid = 0;
    c->exited = 0;
}

static void run_child(struct port *p, int in, int out, int err)
{
    char *argv[1024];
    size_t n = 0;
    for (size_t at = 0; at < p->argv_len && n < 1023; at += strlen(p->argv + at) + 1)
        argv[n++] = p->argv + at;
    argv[n] = NULL;
    setsid();
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    signal(SIGPIPE, SIG_DFL);
    if (n > 0)
        execvp(argv[0], argv);
    else
        errno = EINVAL;
    fprintf(stderr, "lab: cannot run '%s': %s\n", n ? argv[0] : "", strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static void start(struct port *p, struct command *c)
{
    int in[2], out[2], err[2];
    stop(c);
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) {
        perror("labd: pipe");
        exit(1);
    }
    c->pid = fork();
    if (c->pid == 0)
        run_child(p, in[0], out[1], err[1]);
    close(in[0]);
    close(out[1]);
    close(err[1]);
    c->in = in[1];
    fcntl(c->in, F_SETFL, O_NONBLOCK);
    c->out[0] = out[0];
    c->out[1] = err[0];
    c->exited = 0;
    p->argv_len = 0;
}

static void pass_output(struct port *p, struct command *c, int which)
{
    char data[FRAME_MAX];
    ssize_t n = read(c->out[which], data, sizeof data);
    if (n > 0)
        send_frame(p->fd, which ? 'R' : 'O', data, (size_t)n);
    else if (n == 0 || errno != EINTR)
        close_fd(&c->out[which]);
}

// Writes the command's input, and forwards its output: it may read only after it wrote.
static void feed(struct port *p, struct command *c, const unsigned char *data, size_t len)
{
    while (len > 0 && c->in >= 0) {
        struct pollfd fds[3] = {
            {c->in, POLLOUT, 0}, {c->out[0], POLLIN, 0}, {c->out[1], POLLIN, 0}};
        if (poll(fds, 3, -1) < 0)
            continue;
        for (int i = 0; i < 2; i++)
            if (fds[1 + i].revents)
                pass_output(p, c, i);
        if (!fds[0].revents)
            continue;
        ssize_t n = write(c->in, data, len);
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        } else if (errno != EAGAIN && errno != EINTR) {
            close_fd(&c->in);    // it has closed its input or has ended
        }
    }
}

static void take_frame(struct port *p, struct command *c, size_t len)
{
    const unsigned char *data = p->buf + HEADER;
    switch (p->buf[0]) {
    case 'H':
        stop(c);
        p->argv_len = 0;
        send_frame(p->fd, 'H', data, len);
        break;
    case 'A':    // an empty one ends the vector and starts the command
        if (len == 0)
            start(p, c);
        else if (p->argv_len + len < ARGV_MAX)
            memcpy(p->argv + p->argv_len, data, len), p->argv_len += len;
        break;
    case 'I':
        feed(p, c, data, len);
        break;
    case 'E':
        close_fd(&c->in);
        break;
    }
}

// Reads from the host and handles each complete frame. Returns 0 when the host has disconnected.
static int take_input(struct port *p, struct command *c)
{
    ssize_t n = read(p->fd, p->buf + p->have, sizeof p->buf - p->have);
    if (n <= 0)
        return n < 0 && (errno == EINTR || errno == EAGAIN);
    p->have += (size_t)n;
    for (;;) {
        size_t skip = 0;
        while (skip < p->have && p->buf[skip] == 0)
            skip++;
        p->have -= skip;
        memmove(p->buf, p->buf + skip, p->have);
        if (p->have < HEADER)
            return 1;
        size_t len = (size_t)p->buf[3] << 8 | p->buf[4];
        if (len > FRAME_MAX) {    // not a frame: resynchronise on the next zeros
            p->have = 0;
            return 1;
        }
        if (p->have < HEADER + len)
            return 1;
        take_frame(p, c, len);
        p->have -= HEADER + len;
        memmove(p->buf, p->buf + HEADER + len, p->have);
    }
}

// Sends the exit status when the output has ended: it is closed, or the command has ended and its
// output is idle. (A background child keeps the pipe open and is not waited for.)
static void finish(struct port *p, struct command *c, int silent)
{
    int status;
    if (!c->pid)
        return;
    if (!c->exited && waitpid(c->pid, &status, WNOHANG) == c->pid) {
        c->exited = 1;
        c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return;    // one more round: there may be output from before the exit
    }
    if (c->exited && (silent || (c->out[0] < 0 && c->out[1] < 0))) {
        unsigned char code = (unsigned char)c->status;
        stop(c);
        send_frame(p->fd, 'S', &code, 1);
    }
}

static void on_child(int sig)
{
    (void)sig;    // the signal only interrupts poll()
}

static void serve(const char *path)
{
    static struct port p;
    struct command c = {.pid = 0, .in = -1, .out = {-1, -1}};
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_child}, NULL);
    p.fd = open(path, O_RDWR | O_CLOEXEC);
    if (p.fd < 0) {
        fprintf(stderr, "labd: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    for (;;) {
        struct pollfd fds[3] = {{p.fd, POLLIN, 0}, {c.out[0], POLLIN, 0}, {c.out[1], POLLIN, 0}};
        int ended = c.pid && c.exited;
        int n = poll(fds, 3, ended ? DRAIN_MS : c.pid ? 200 : -1);
        if (n > 0 && fds[1].revents)
            pass_output(&p, &c, 0);
        if (n > 0 && fds[2].revents)
            pass_output(&p, &c, 1);
        if (n > 0 && fds[0].revents && !take_input(&p, &c)) {
            stop(&c);    // the host has disconnected
            p.have = 0;
            send_all(p.fd, "", 1);    // blocks until the host connects; poll() would spin
        }
        finish(&p, &c, ended && n == 0);
    }
}

// Starts one worker for each virtio serial port, and returns how many there are.
static int start_workers(void)
{
    int count = 0;
    DIR *dir = opendir("/sys/class/virtio-ports");
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        char path[300];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/dev/%s", e->d_name);
        if (fork() == 0) {
            serve(path);
            exit(0);
        }
        count++;
    }
    if (dir)
        closedir(dir);
    return count;
}

// Loads kernel modules in this order. One process for all saves time in an emulated machine.
static int load_modules(char **paths)
{
    for (; *paths; paths++) {
        int fd = open(*paths, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || syscall(SYS_finit_module, fd, "", 0)) {
            fprintf(stderr, "labd: %s: %s\n", *paths, strerror(errno));
            return 1;
        }
        close(fd);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "load") == 0)
        return load_modules(argv + 2);
    if (chdir("/root"))
        perror("labd: /root");
    if (start_workers() == 0)
        printf("lab: FAILED labd found no virtio serial port\n");
    else
        printf("lab: ready\n");
    fflush(stdout);
    for (;;)    // process 1 reaps orphans
        if (wait(NULL) < 0)
            sleep(1);
}
