/* test_text_inference.c - what answers look like, and when they end. */
#include "base/log.h"
#include "base/signal.h"
#include "base/utf8.h"
#include "components.h"
#include "test.h"
#include "train/forced_model.h"
#include "train/text_inference.h"
#include <signal.h>
#include <string.h>

typedef struct Fixture {
    Arena *arena;
    ForcedModel files;
    const TextInference *inference;
    Session *session;
    Generator *generator;
} Fixture;

static Fixture fixture_new(const char *pairs)
{
    Fixture f = { .arena = arena_new() };
    void *made;
    log_set_level(LOG_WARNING);
    f.files = forced_model_write(f.arena, pairs, "{prompt}");
    assert_no_error(component_from_file(f.arena, f.files.config, (StringList){ 0 },
                                        "text_inference_component", "inference_component", &made));
    f.inference = made;
    SessionSettings s = { .model = f.inference->model, .n_threads = 1, .rounded_buffers = true };
    assert_no_error(session_new(&s, &f.session));
    assert_no_error(generator_new(f.session, f.inference->model, 64, &f.generator));
    return f;
}

static void fixture_free(Fixture *f)
{
    generator_free(f->generator);
    session_free(f->session);
    arena_free(f->arena);
}

/* What is printed comes in writes; each must be whole characters. */
typedef struct Writes {
    Text text;
    int n;
} Writes;

static ssize_t record(void *to, const char *bytes, size_t n)
{
    Writes *w = to;
    assert_int_equal(utf8_valid_length((Str){ bytes, n }), n);
    text_add(&w->text, bytes, n);
    w->n++;
    return (ssize_t)n;
}

static const AnswerSettings greedy = { .max_new_tokens = INT64_MAX };

static const char *answer(const Fixture *f, const char *prompt, const AnswerSettings *s,
                          AnswerEnd expected)
{
    Writes w = { 0 };
    FILE *to = fopencookie(&w, "w", (cookie_io_functions_t){ .write = record });
    AnswerEnd end;
    assert_non_null(to);
    assert_no_error(text_inference_answer(f->inference, f->generator, prompt, s, to, &end));
    fclose(to);
    assert_int_equal(end, expected);
    const char *text = arena_string(f->arena, w.text.ptr);
    text_free(&w.text);
    return text;
}

#define BEGIN(prompt)                                                                              \
    "--------------------PROMPT--------------------\nPrompt:  " prompt                             \
    "\n\n--------------------OUTPUT--------------------\n\n"

TEST(an_answer_ends_at_the_end_token)
{
    Fixture f = fixture_new("abbcc$");
    assert_string_equal(answer(&f, "xa", &greedy, ANSWER_EOD),
                        BEGIN("xa") "bc\n<reached end of document token>\n");
    assert_string_equal(answer(&f, "c", &greedy, ANSWER_EOD),
                        BEGIN("c") "\n<reached end of document token>\n");
    fixture_free(&f);
}
FENCED(an_answer_ends_at_the_end_token)

TEST(an_answer_ends_where_the_text_is_full)
{
    Fixture f = fixture_new("abba");
    const char *text = answer(&f, "xya", &greedy, ANSWER_LIMIT);
    size_t n = strlen(BEGIN("xya"));
    assert_memory_equal(text, BEGIN("xya"), n);
    assert_int_equal(strspn(text + n, "ab"), 64 - 3);
    assert_string_equal(text + n + 64 - 3, "\n max tokens reached\n");
    AnswerSettings three = { .max_new_tokens = 3 };
    assert_string_equal(answer(&f, "xya", &three, ANSWER_LIMIT),
                        BEGIN("xya") "bab\n max tokens reached\n");
    fixture_free(&f);
}

TEST(an_answer_ends_in_front_of_a_stop_text)
{
    Fixture f = fixture_new("abbccddee$");
    const char *stop[] = { "cd", "ex" }, *none[] = { "cx", "dee" };
    AnswerSettings s = { .max_new_tokens = 30, .stops = { stop, 2 } };
    assert_string_equal(answer(&f, "a", &s, ANSWER_TEXT), BEGIN("a") "b\n<reached stop text>\n");
    s.stops.item = none; /* what begins like one is printed when it goes on otherwise, or ends */
    assert_string_equal(answer(&f, "a", &s, ANSWER_EOD),
                        BEGIN("a") "bcde\n<reached end of document token>\n");
    fixture_free(&f);
}

/* "1" is followed by the three bytes of a character, one token each, then "2", then the end. */
TEST(an_answer_is_printed_by_whole_characters)
{
    Fixture f = fixture_new("1\xe2\xe2\x82\x82\xac\xac"
                            "22$");
    assert_string_equal(answer(&f, "1", &greedy, ANSWER_EOD),
                        BEGIN("1") "\xe2\x82\xac"
                                   "2\n<reached end of document token>\n");
    fixture_free(&f);
}

/* A character that the end token cuts short cannot become whole any more. */
TEST(what_is_left_of_a_broken_character_is_replaced)
{
    Fixture f = fixture_new("1\xe2\xe2\x82\x82$");
    assert_string_equal(answer(&f, "1", &greedy, ANSWER_EOD),
                        BEGIN("1") "\xef\xbf\xbd\n<reached end of document token>\n");
    fixture_free(&f);
}

TEST(a_prompt_that_leaves_no_room_for_an_answer_is_refused)
{
    Fixture f = fixture_new("");
    char prompt[80] = "";
    AnswerEnd end;
    memset(prompt, 'p', sizeof prompt - 1);
    assert_error_has(text_inference_answer(f.inference, f.generator, prompt, &greedy, stderr, &end),
                     "the prompt has 79 tokens; allowed: at most 63, since prompt and answer may "
                     "have 64 together");
    prompt[64] = 0;
    assert_error_has(text_inference_answer(f.inference, f.generator, prompt, &greedy, stderr, &end),
                     "the prompt has 64 tokens");
    prompt[63] = 0;
    answer(&f, prompt, &greedy, ANSWER_LIMIT);
    fixture_free(&f);
}

TEST(a_prompt_without_tokens_is_an_error)
{
    Fixture f = fixture_new("");
    AnswerEnd end;
    assert_error_has(text_inference_answer(f.inference, f.generator, "", &greedy, stdout, &end),
                     "no token");
    assert_error_has(
        text_inference_answer(f.inference, f.generator, "a\xff", &greedy, stdout, &end), "UTF-8");
    fixture_free(&f);
}

TEST(the_same_seed_gives_the_same_answer)
{
    Fixture f = fixture_new("");
    /* so hot that the forced token is no more likely than others */
    AnswerSettings s = { .sampling = { .temperature = 1e3 }, .seed = 5, .max_new_tokens = 30 };
    AnswerSettings other_seed = s, other_prompt = s;
    other_seed.seed = 6;
    other_prompt.number = 1;
    const char *text = answer(&f, "a", &s, ANSWER_LIMIT);
    assert_string_equal(answer(&f, "a", &s, ANSWER_LIMIT), text);
    assert_string_not_equal(answer(&f, "a", &other_seed, ANSWER_LIMIT), text);
    assert_string_not_equal(answer(&f, "a", &other_prompt, ANSWER_LIMIT), text);
    fixture_free(&f);
}
FENCED(the_same_seed_gives_the_same_answer)

TEST(a_stop_signal_ends_an_answer)
{
    Fixture f = fixture_new("");
    signal_catch();
    raise(SIGINT);
    assert_string_equal(answer(&f, "a", &greedy, ANSWER_STOPPED), BEGIN("a") "closing app...\n");
    fixture_free(&f);
}
