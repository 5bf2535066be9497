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

/* ---- several at once ---- */

enum { N_ASKED = 7 };

/* Prompts of many lengths, answered `at_once` at a time. */
static void answer_several(const Fixture *f, const AnswerSettings *s, int64_t at_once, Asked *out)
{
    static const char *const prompts[N_ASKED] = {
        "a", "a longer prompt", "xyz", "q", "a longer prompt", "ab ab ab ab ab ab ab ab ab", "c"
    };
    for (int64_t i = 0; i < N_ASKED; i++) out[i] = (Asked){ .text = prompts[i], .number = i };
    assert_no_error(
        text_inference_answer_all(f->inference, f->generator, at_once, out, N_ASKED, s, NULL));
}

/* The same answers, however many at a time; among them are all the `ends`. */
static void check_several(const char *pairs, const AnswerSettings *s, unsigned ends)
{
    Fixture f = fixture_new(pairs);
    static const int64_t at_once[] = { 2, 3, MAX_TEXTS };
    Asked one[N_ASKED], several[N_ASKED];
    answer_several(&f, s, 1, one);
    for (int k = 0; k < 3; k++) {
        answer_several(&f, s, at_once[k], several);
        for (int i = 0; i < N_ASKED; i++) {
            assert_int_equal(several[i].end, one[i].end);
            assert_int_equal(several[i].answer.len, one[i].answer.len);
            assert_memory_equal(several[i].answer.ptr, one[i].answer.ptr, one[i].answer.len);
            ends &= ~(1u << one[i].end);
            text_free(&several[i].answer);
        }
    }
    for (int i = 0; i < N_ASKED; i++) {
        AnswerSettings own = *s;
        AnswerEnd end;
        own.number = i;
        assert_no_error(
            text_inference_answer(f.inference, f.generator, one[i].text, &own, NULL, &end));
        assert_int_equal(end, one[i].end);
        text_free(&one[i].answer);
    }
    assert_int_equal(ends, 0);
    fixture_free(&f);
}

TEST(prompts_answered_side_by_side_get_the_answers_of_each_alone)
{
    static const char *stop[] = { "\x7f", "hh" };
    const AnswerSettings greedy_until = { .max_new_tokens = 9, .stops = { stop, 2 } };
    AnswerSettings drawn = { .sampling = { .temperature = 1e3, .top_k = 200 },
                             .seed = 5,
                             .max_new_tokens = 30 };
    check_several("abbcc$tzzhhhzyyzqq", &greedy_until,
                  1u << ANSWER_EOD | 1u << ANSWER_LIMIT | 1u << ANSWER_TEXT);
    check_several("", &drawn, 1u << ANSWER_LIMIT);
    drawn.max_new_tokens = 150; /* the context is full twice */
    drawn.slides = true;
    drawn.sampling.repetition_penalty = 1.2;
    drawn.stops = (StringList){ stop, 1 };
    check_several("", &drawn, 1u << ANSWER_LIMIT | 1u << ANSWER_TEXT);
}
FENCED(prompts_answered_side_by_side_get_the_answers_of_each_alone)

TEST(a_prompt_that_cannot_be_answered_is_told_before_others_are)
{
    Fixture f = fixture_new("");
    char prompt[80] = "";
    memset(prompt, 'p', sizeof prompt - 1);
    Asked asked[] = { { .text = "a" }, { .text = prompt, .place = "prompts:2", .number = 1 } };
    assert_error_has(
        text_inference_answer_all(f.inference, f.generator, 2, asked, 2, &greedy, NULL),
        "prompts:2: the prompt has 79 tokens; allowed: at most 63");
    assert_int_equal(asked[0].answer.len, 0);
    fixture_free(&f);
}

TEST(a_stop_signal_ends_all_answers)
{
    Fixture f = fixture_new("");
    Asked asked[N_ASKED];
    signal_catch();
    raise(SIGINT);
    answer_several(&f, &greedy, 3, asked);
    for (int i = 0; i < N_ASKED; i++) assert_int_equal(asked[i].end, ANSWER_STOPPED);
    fixture_free(&f);
}

TEST(a_stop_signal_ends_an_answer)
{
    Fixture f = fixture_new("");
    signal_catch();
    raise(SIGINT);
    assert_string_equal(answer(&f, "a", &greedy, ANSWER_STOPPED), BEGIN("a") "closing app...\n");
    fixture_free(&f);
}
