// SPDX-License-Identifier: Apache-2.0
//
// Requests to the running switch, one per line:
//
//   show                                   all links, a line of JSON for each direction
//   set RAIL LINK up|down|both WHAT VALUE  WHAT: loss or corrupt (percent), delay (ms), cut (0, 1);
//                                          dscp: all of these act on frames with this DSCP only
//   clear                                  resets all links
//
// LINK is a guest (n3) or a link between switches (leaf1-spine2). The answer ends with an empty
// line. Its first line is "ok" or "error: REASON".

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labswitch.h"

struct reply {
    char *text;
    size_t size, len;
};

__attribute__((format(printf, 2, 3))) static void say(struct reply *reply, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    int n = vsnprintf(reply->text + reply->len, reply->size - reply->len, format, words);
    va_end(words);
    if (n > 0 && reply->len + (size_t)n < reply->size)
        reply->len += (size_t)n;
}

static void show_link(struct reply *reply, const struct rail *rail, const char *name,
                      const struct link *link)
{
    static const char *const directions[] = {"up", "down"};
    for (int d = UP; d <= DOWN; d++) {
        const struct way *way = &link->way[d];
        say(reply,
            "{\"rail\": \"%s\", \"link\": \"%s\", \"direction\": \"%s\", \"loss_percent\": %g, "
            "\"corrupt_percent\": %g, \"delay_ms\": %g, \"cut\": %s, \"dscp\": ",
            rail->name, name, directions[d], way->loss_percent, way->corrupt_percent,
            way->delay_ms, way->cut ? "true" : "false");
        if (way->of_dscp)
            say(reply, "%d", way->dscp);
        else
            say(reply, "null");
        say(reply,
            ", \"frames\": %llu, \"bytes\": %llu, \"lost\": %llu, \"corrupted\": %llu}\n",
            (unsigned long long)way->frames,
            (unsigned long long)way->bytes, (unsigned long long)way->lost,
            (unsigned long long)way->corrupted);
    }
}

// Calls `visit` for every link, with its name.
static void each_link(void (*visit)(void *what, struct rail *rail, const char *name,
                                    struct link *link),
                      void *what)
{
    char name[32];
    for (int r = 0; r < fabric.rails; r++) {
        struct rail *rail = &fabric.rail[r];
        for (int n = 1; n <= fabric.ports; n++) {
            snprintf(name, sizeof name, "n%d", n);
            visit(what, rail, name, &rail->ports[n]->link);
        }
        for (int l = 1; l <= fabric.leaves && fabric.leaves > 1; l++)
            for (int s = 1; s <= fabric.spines; s++) {
                snprintf(name, sizeof name, "leaf%d-spine%d", l, s);
                visit(what, rail, name, &rail->uplinks[l][s]);
            }
    }
}

static void visit_show(void *what, struct rail *rail, const char *name, struct link *link)
{
    show_link(what, rail, name, link);
}

static void visit_clear(void *what, struct rail *rail, const char *name, struct link *link)
{
    (void)what, (void)rail, (void)name;
    for (int d = UP; d <= DOWN; d++) {
        struct way *way = &link->way[d];
        way->loss_percent = way->corrupt_percent = way->delay_ms = 0;
        way->cut = way->of_dscp = way->dscp = 0;
    }
}

struct wanted {
    const char *rail, *name;
    struct link *found;
};

static void visit_find(void *what, struct rail *rail, const char *name, struct link *link)
{
    struct wanted *wanted = what;
    if (strcmp(rail->name, wanted->rail) == 0 && strcmp(name, wanted->name) == 0)
        wanted->found = link;
}

// Returns the error, or NULL.
static const char *set(struct way *way, const char *what, double value)
{
    if (strcmp(what, "delay") == 0) {
        if (value > 10000)
            return "a delay is 0 to 10000 ms";
        way->delay_ms = value;
        return NULL;
    }
    if (strcmp(what, "dscp") == 0) {
        if (value > 63 || value != (int)value)
            return "a DSCP is 0 to 63";
        way->of_dscp = 1;
        way->dscp = (int)value;
        return NULL;
    }
    if (value > 100)
        return "a part is 0 to 100 percent";
    if (strcmp(what, "loss") == 0)
        way->loss_percent = value;
    else if (strcmp(what, "corrupt") == 0)
        way->corrupt_percent = value;
    else if (strcmp(what, "cut") == 0)
        way->cut = value != 0;
    else
        return "expected loss, corrupt, delay, cut or dscp";
    return NULL;
}

static const char *set_words(char **words)
{
    struct wanted wanted = {words[1], words[2], NULL};
    each_link(visit_find, &wanted);
    if (!wanted.found)
        return "no such rail or link";
    int up = strcmp(words[3], "up") == 0, down = strcmp(words[3], "down") == 0;
    if (!up && !down && strcmp(words[3], "both") != 0)
        return "expected up, down or both";
    char *end;
    double value = strtod(words[5], &end);
    if (end == words[5] || *end || !isfinite(value) || value < 0)
        return "expected a number, 0 or more";
    const char *why = NULL;
    for (int d = UP; d <= DOWN && !why; d++)
        if ((d == UP && !down) || (d == DOWN && !up))
            why = set(&wanted.found->way[d], words[4], value);
    return why;
}

void answer(char *line, char *text, size_t size)
{
    enum { WORDS = 6 };
    struct reply reply = {text, size, 0};
    char *words[WORDS + 1] = {0}, *rest = NULL;
    int count = 0;
    for (char *w = strtok_r(line, " \r\n", &rest); w && count <= WORDS;
         w = strtok_r(NULL, " \r\n", &rest))
        words[count++] = w;
    const char *why = NULL;
    if (count == 1 && strcmp(words[0], "show") == 0) {
        say(&reply, "ok\n");
        each_link(visit_show, &reply);
        say(&reply, "\n");
        return;
    }
    if (count == 1 && strcmp(words[0], "clear") == 0)
        each_link(visit_clear, NULL);
    else if (count == WORDS && strcmp(words[0], "set") == 0)
        why = set_words(words);
    else
        why = "expected show, clear, or set RAIL LINK up|down|both "
              "loss|corrupt|delay|cut|dscp VALUE";
    say(&reply, why ? "error: %s\n\n" : "ok\n\n", why);
}
