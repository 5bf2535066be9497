/* test_generate_terminal.c - `modalities generate_text` before a person at a terminal. */
#include "test.h"
#include "train/forced_model.h"
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program on a terminal of its own, and all that it has shown since the last wait. */
typedef struct Terminal {
    pid_t pid;
    int fd;
    Text shown;
} Terminal;

static Terminal terminal_new(Arena *a, const ForcedModel *m)
{
    Terminal t = { 0 };
    const char *command =
        arena_printf(a, "exec %s generate_text --config_file_path %s --max_new_tokens 3",
                     program_path(), m->config);
    t.pid = forkpty(&t.fd, NULL, NULL, NULL);
    assert_true(t.pid >= 0);
    if (t.pid == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return t;
}

/* Reads until `text` was shown; NULL: until the program has closed the terminal. */
static void wait_for(Terminal *t, const char *text)
{
    char bytes[512];
    text_clear(&t->shown);
    while (!text || !t->shown.ptr || !strstr(t->shown.ptr, text)) {
        struct pollfd p = { .fd = t->fd, .events = POLLIN };
        if (poll(&p, 1, 20000) != 1)
            fail_msg("\"%s\" did not appear in: %s", text ? text : "the end", t->shown.ptr);
        ssize_t n = read(t->fd, bytes, sizeof bytes);
        if (n <= 0 && !text) return;
        if (n <= 0) fail_msg("the program ended without \"%s\": %s", text, t->shown.ptr);
        text_add(&t->shown, bytes, (size_t)n);
    }
}

static void type(Terminal *t, const char *keys)
{
    assert_int_equal(write(t->fd, keys, strlen(keys)), strlen(keys));
}

/* Waits for the end and returns the exit status. */
static int terminal_close(Terminal *t)
{
    int status;
    wait_for(t, NULL);
    assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
    close(t->fd);
    text_free(&t->shown);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define CTRL_C "\x03"
#define CTRL_D "\x04"

TEST(a_person_is_asked_again_until_the_end_of_input)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "{question}");
    Terminal t = terminal_new(a, &m);
    wait_for(&t, "question: ");
    type(&t, "xa\n");
    wait_for(&t, "bbb\r\n max tokens reached\r\nquestion: ");
    type(&t, "\n");
    wait_for(&t, "the prompt is empty\r\nquestion: ");
    type(&t, "c\n");
    wait_for(&t, "ccc\r\n max tokens reached\r\nquestion: ");
    type(&t, CTRL_D);
    assert_int_equal(terminal_close(&t), 0);
    arena_free(a);
}

TEST(ctrl_c_at_a_question_ends_the_program_in_order)
{
    Arena *a = arena_new();
    ForcedModel m = forced_model_write(a, "ab", "{question} {another}");
    Terminal t = terminal_new(a, &m);
    wait_for(&t, "question: ");
    type(&t, "xa\n");
    wait_for(&t, "another: ");
    type(&t, CTRL_C);
    assert_int_equal(terminal_close(&t), 0);
    arena_free(a);
}
