/* generate_text.c - `modalities generate_text`: asks for prompts and continues them. */
#include "base/log.h"
#include "base/signal.h"
#include "comm/groups.h"
#include "command.h"
#include "components.h"
#include "config/builder.h"
#include "models/model.h"
#include "prompt_file.h"
#include "prompts.h"
#include "train/crew.h"
#include "train/generation_config.h"
#include "train/text_inference.h"
#include <string.h>

typedef struct Options {
    const char *config_file_path, *model_path, *tokenizer_path, *prompt, *prompts_file_path,
        *output_file_path, *system, *device;
    const int64_t *max_new_tokens, *sequence_length;
    const double *temperature;
    int64_t seed, top_k, ranks, batch_size;
    double top_p, min_p, repetition_penalty;
    bool print_speed, chat;
    int context, file_existence_policy;
    StringList stop, set;
} Options;

enum { CONTEXT_STOP, CONTEXT_SLIDE };
static const char *const contexts[] = { "stop", "slide", NULL };

/* clang-format off */
static const Field options[] = {
    FIELD_PATH(Options, config_file_path, "null", "the text generation YAML", .flags = FIELD_EXISTS),
    FIELD_PATH(Options, model_path, "null", "in place of the YAML: a model of Hugging Face, as a folder or a name in its local cache, or a checkpoint or experiment of a training"),
    FIELD_PATH(Options, tokenizer_path, "null", "with model_path: a folder with tokenizer.json, or a SentencePiece .model; by default the model's folder", .flags = FIELD_EXISTS_ANY),
    FIELD_INT(Options, sequence_length, "null", 1, INFINITY, "tokens that prompt and answer may have together, in place of the YAML's; with model_path at most 4096 unless told, and no more than the model's"),
    FIELD_STRING(Options, prompt, "null", "stands for the {name} of the prompt_template; nothing is asked then"),
    FIELD_PATH(Options, prompts_file_path, "null", "JSONL file of prompts: {\"prompt\": ...}, or a key for each {name} of the prompt_template", .flags = FIELD_EXISTS, .role = PATH_READ),
    FIELD_PATH(Options, output_file_path, "null", "with prompts_file_path: gets its lines with \"answer\" and \"end\" (eod, limit, text)", .role = PATH_WRITTEN),
    FIELD_EXISTENCE(Options),
    FIELD_INT(Options, batch_size, "8", 1, MAX_TEXTS, "with prompts_file_path: how many prompts are answered together; each takes the memory of a cache"),
    FIELD_BOOL(Options, chat, "false", "prompts are messages to a chat model, by the chat template in the tokenizer's folder"),
    FIELD_STRING(Options, system, "null", "with chat: the message before the prompt"),
    FIELD_CHOICE(Options, context, "stop", contexts, "when sequence_length is full: stop, or slide and go on with the last half (needs max_new_tokens)"),
    FIELD_INT(Options, max_new_tokens, "null", 1, INFINITY, "longest answer; by default until sequence_length"),
    FIELD_INT(Options, seed, "0", 0, INFINITY, "of the random draws; the same seed gives the same answers"),
    FIELD_FLOAT(Options, temperature, "null", 0, INFINITY, "instead of the configuration's; 0: always the most likely token"),
    FIELD_INT(Options, top_k, "0", 0, INFINITY, "draw from so many of the most likely tokens; 0: from all"),
    FIELD_FLOAT(Options, top_p, "1.0", 0, 1, "draw from the fewest tokens that are together so probable", .flags = FIELD_OPEN_MIN),
    FIELD_FLOAT(Options, min_p, "0.0", 0, 1, "draw from tokens at least so probable, relative to the most likely one"),
    FIELD_FLOAT(Options, repetition_penalty, "1.0", 0, INFINITY, "above 1: tokens that were there become less likely", .flags = FIELD_OPEN_MIN),
    FIELD_STRINGS(Options, stop, "[]", 0, 0, "a text that ends an answer, and is not printed"),
    FIELD_BOOL(Options, print_speed, "false", "tells the tokens per second of each answer"),
    FIELD_INT(Options, ranks, "0", 0, 256, "run so many ranks, as threads of this process, that share the model by the tensor and pipeline parallelism of the YAML's device_mesh; 0: one, or what a launcher has started"),
    FIELD_STRING(Options, device, "null", "cpu, cuda or cuda:N, to fail where there is none; by default whatever there is"),
    FIELD_STRINGS(Options, set, "[]", 0, 0, "override a setting: --set settings.model_path=checkpoints/eid_..."),
    { 0 },
};
/* clang-format on */

/* What one rank generates with. */
typedef struct Work {
    const Options *options;
    const Crew *crew;
    GenerationConfig config;
    Mesh mesh;
    const char *device;
} Work;

/* What errors of the whole name. */
static const char *source(const Options *o)
{
    return o->config_file_path ? o->config_file_path : o->model_path;
}

static Error *read_config(Arena *a, const Options *o, const Rank *rank, Yaml **root)
{
    const ResolverContext context = { .rank = rank,
                                      .config_file_path = o->config_file_path,
                                      .experiments_root_path = ".",
                                      .experiment_id = "-1" };
    if (o->config_file_path) return config_load(a, o->config_file_path, o->set, &context, root);
    Error *e = generation_config_of(a, o->model_path, o->tokenizer_path, rank, root);
    for (int64_t i = 0; !e && i < o->set.n; i++) e = config_override(a, *root, o->set.item[i]);
    return e;
}

/* No longer than the model takes, unless that was asked for. */
static void set_length(const Options *o, TextInference *t)
{
    const int64_t most = t->model->sequence_length;
    if (o->sequence_length)
        t->sequence_length = *o->sequence_length;
    else if (o->model_path && t->sequence_length > most)
        t->sequence_length = most;
}

static Error *load(Arena *a, Work *w)
{
    const Options *o = w->options;
    const Rank *rank = w->crew->rank;
    Yaml *root;
    Registry *r;
    GenerationConfig checked;
    TRY(read_config(a, o, rank, &root));
    TRY(components_registry(a, &r));
    TRY(builder_validate(builder_new(a, r, root, rank), generation_config_fields, &checked));
    TRY(error_wrap(device_choice_check(&checked.settings.device), "%s: settings", source(o)));
    TRY(builder_build(builder_new(a, r, root, rank), generation_config_fields, &w->config));
    set_length(o, w->config.text_inference_component);
    return NULL;
}

/* Ranks share the matrices or layers of a model; they all make the same answer. */
static Error *check_ranks(Work *w)
{
    const int64_t n = w->crew->rank->world_size;
    w->mesh = w->config.device_mesh ? *w->config.device_mesh : mesh_of_rank(w->crew->rank);
    if (n == 1 && w->mesh.world_size == 1) return NULL;
    const char *path = source(w->options);
    const int64_t stages = w->mesh.size[MESH_PP];
    if (w->mesh.world_size != n || w->mesh.size[MESH_TP] * stages != n)
        return error_new("%s: %lld ranks can share a model for generation by tensor parallelism "
                         "and by layers alone: allowed is a device_mesh whose "
                         "tensor_parallel_degree times pipeline_parallel_degree is %lld and a "
                         "model that asks for it (model.gpt2_tp, model.parallelized)",
                         path, (long long)n, (long long)n);
    if (stages > 1 && !w->config.text_inference_component->model->pipeline)
        return error_new("%s: pipeline_parallel_degree is %lld, but nothing cuts the model into "
                         "stages: model.parallelized does",
                         path, (long long)stages);
    return NULL;
}

static Error *choose_device(Work *w)
{
    const Options *o = w->options;
    TRY(session_check_device(o->device));
    const char *found = device_choose(o->device, w->crew->rank->world_size);
    w->device = found;
    if (consensus_leads(w->crew->consensus) &&
        device_choice_is_cuda(&w->config.text_inference_component->device) &&
        (!found || !strcmp(found, "cpu")))
        log_info("the configuration asks for cuda; it runs here on the CPU");
    return NULL;
}

static Error *open_generator(Session *s, const TextInference *t, Generator **out)
{
    int64_t limit = t->sequence_length;
    if (limit > t->model->sequence_length) {
        limit = t->model->sequence_length;
        log_warning("text_inference_component.sequence_length %lld is more than the model's %lld, "
                    "which counts",
                    (long long)t->sequence_length, (long long)limit);
    }
    TRY(generator_new(s, t->model, limit, out));
    if (!t->model->weights_path && !t->model->hf)
        log_warning("the model comes without a checkpoint: its weights are random");
    return store_initialize(session_store(s), (uint64_t)t->model->seed);
}

static AnswerSettings answer_settings(const Work *w, const Chat *chat)
{
    const Options *o = w->options;
    const TextInference *t = w->config.text_inference_component;
    return (AnswerSettings){ .sampling = { .temperature =
                                               o->temperature ? *o->temperature : t->temperature,
                                           .top_k = o->top_k,
                                           .top_p = o->top_p,
                                           .min_p = o->min_p,
                                           .repetition_penalty = o->repetition_penalty },
                             .stops = o->stop,
                             .print_speed = o->print_speed && consensus_leads(w->crew->consensus),
                             .seed = (uint64_t)o->seed,
                             .max_new_tokens = o->max_new_tokens ? *o->max_new_tokens : INT64_MAX,
                             .chat = chat,
                             .system = o->system,
                             .together = w->crew->consensus,
                             .slides = o->context == CONTEXT_SLIDE };
}

/* Rank 0 asks for it, all get it; NULL: there is none. */
static Error *next_prompt(Arena *a, Consensus *together, Prompts *p, const char **out)
{
    Error *e = NULL;
    *out = NULL;
    if (p) e = prompts_next(a, p, out);
    TRY(consensus_error(together, e));
    return consensus_text(together, a, out);
}

/* `p` is NULL on ranks that do not lead. */
static Error *answer_all(AnswerSettings s, const TextInference *t, Generator *g, Prompts *p)
{
    Arena *a = arena_new();
    Error *e = NULL;
    AnswerEnd end = ANSWER_LIMIT;
    while (!e && end != ANSWER_STOPPED) {
        const char *prompt;
        arena_clear(a);
        e = next_prompt(a, s.together, p, &prompt);
        if (e || !prompt) break;
        e = text_inference_answer(t, g, prompt, &s, p ? stdout : NULL, &end);
        s.number++;
    }
    arena_free(a);
    return e;
}

static Error *check_options(const Options *o)
{
    if (!o->config_file_path == !o->model_path)
        return error_usage("--config_file_path or --model_path: one of them says which model");
    if (o->tokenizer_path && !o->model_path)
        return error_usage("--tokenizer_path goes with --model_path; a YAML has its own tokenizer");
    for (int64_t i = 0; i < o->stop.n; i++)
        if (!*o->stop.item[i]) return error_usage("--stop: a text that ends answers is not empty");
    if (!o->prompts_file_path != !o->output_file_path)
        return error_usage("--prompts_file_path and --output_file_path go together");
    if (o->prompt && o->prompts_file_path)
        return error_usage("--prompt or --prompts_file_path, not both");
    if (o->system && !o->chat) return error_usage("--system needs --chat");
    if (o->context == CONTEXT_SLIDE && !o->max_new_tokens)
        return error_usage(
            "--context slide needs --max_new_tokens: nothing else may end an answer");
    return NULL;
}

static Error *open_chat(Arena *a, const Options *o, const TextInference *t, const Chat **out)
{
    Chat *chat = NULL;
    if (o->chat && !t->tokenizer->folder)
        return error_new("--chat: the tokenizer is no folder of Hugging Face's, so it has no chat "
                         "template");
    if (o->chat) TRY(chat_open(a, t->tokenizer->folder, &chat));
    *out = chat;
    return NULL;
}

static Error *answer_prompts(Arena *a, const Work *w, Generator *g)
{
    const Options *o = w->options;
    const TextInference *t = w->config.text_inference_component;
    CHECK(t != NULL); /* the table requires it */
    const Chat *chat;
    Prompts *prompts = NULL;
    TRY(open_chat(a, o, t, &chat));
    const AnswerSettings s = answer_settings(w, chat);
    if (o->prompts_file_path) {
        const PromptFile f = { o->prompts_file_path, o->output_file_path, &t->prompt_template };
        return prompt_file_answer(&f, t, g, o->batch_size, &s);
    }
    if (consensus_leads(s.together)) TRY(prompts_new(a, &t->prompt_template, o->prompt, &prompts));
    return answer_all(s, t, g, prompts);
}

static Error *prepare(Arena *a, Work *w, Session **s, Generator **g)
{
    TRY(load(a, w));
    TRY(check_ranks(w));
    TRY(choose_device(w));
    const TextInference *t = w->config.text_inference_component;
    Consensus *together = w->crew->consensus;
    const SessionSettings settings = {
        .model = t->model,
        .device = w->device,
        .n_threads = w->crew->n_threads,
        .memory = w->crew->memory,
        .groups = together ? groups_new(a, &w->mesh, together->world) : NULL,
        .rank = w->mesh.rank,
        .local_rank = w->crew->rank->local_rank,
        .rounded_buffers = t->model->compute == BF16,
    };
    TRY(session_new(&settings, s));
    return open_generator(*s, t, g);
}

static Error *generate_on_rank(Arena *a, const void *from, const Crew *crew)
{
    Work w = { .options = from, .crew = crew };
    Session *s = NULL;
    Generator *g = NULL;
    Arena *own = arena_new(); /* groups end before the ranks' communication does */
    (void)a;
    Error *e = consensus_error(crew->consensus, prepare(own, &w, &s, &g));
    if (consensus_leads(crew->consensus)) signal_catch_while_printing();
    if (!e) e = consensus_break(crew->consensus, answer_prompts(own, &w, g));
    generator_free(g);
    session_free(s);
    arena_free(own);
    return e;
}

static Error *run(Arena *a, const void *from)
{
    const Options *o = from;
    Rank rank;
    bool write;
    TRY(check_options(o));
    TRY(existing_file(o->output_file_path, (ExistingPolicy)o->file_existence_policy, &write));
    if (!write) return NULL;
    TRY(rank_of_process(&rank));
    const CrewSettings crew = {
        .process = &rank, .n_ranks = o->ranks, .work = generate_on_rank, .context = o
    };
    return crew_run(a, &crew);
}

const Command command_top_generate_text = {
    .name = "generate_text",
    .doc = "Continues prompts with a trained model.",
    .details =
        "Asks for each {name} of the prompt_template, answers, and asks again until the input "
        "ends. From a file or a pipe each line is a prompt. Ctrl-C ends the answer and the "
        "program. Nothing is random with --temperature 0. --chat makes a message of each prompt, "
        "as "
        "the tokenizer's chat template asks; --prompts_file_path answers a whole file.",
    .examples = "modalities generate_text --model_path path/to/huggingface/folder --chat\n"
                "modalities generate_text --model_path experiments/first --tokenizer_path "
                "data/tokenizer --prompt \"Once upon a time\"\n"
                "modalities generate_text --config_file_path configs/generate/small.yaml "
                "--set settings.model_path=checkpoints/eid_... --prompt \"Once upon a time\"\n"
                "printf 'One\\nTwo\\n' | modalities generate_text --config_file_path generate.yaml "
                "--max_new_tokens 20 --temperature 0",
    .options = options,
    .options_size = sizeof(Options),
    .run = run,
};
