/* node.h - a parsed template: a tree of nodes that a rendering walks and never changes. */
#ifndef TEMPLATE_NODE_H
#define TEMPLATE_NODE_H
#include "template/value.h"

typedef enum NodeKind {
    /* statements */
    NODE_TEXT,  /* value: plain text */
    NODE_PRINT, /* left */
    NODE_IF,    /* left: condition; body, otherwise */
    NODE_FOR,   /* targets; left: what to go through; right: condition or NULL; body, otherwise */
    NODE_SET,   /* targets; left: the value */
    NODE_SET_BLOCK, /* targets (one); body; left: filters around NODE_BODY_TEXT, or NULL */
    NODE_MACRO,     /* name; arguments: parameters with their defaults; body */
    NODE_SCOPE,     /* body, in a scope of its own */
    NODE_BREAK,
    NODE_CONTINUE,
    /* expressions */
    NODE_VALUE,     /* value */
    NODE_BODY_TEXT, /* what a set block has rendered */
    NODE_NAME,      /* name; function: what it means when no variable has it, or NULL */
    NODE_LIST,      /* arguments */
    NODE_TUPLE,     /* arguments */
    NODE_MAP,       /* arguments: key, value, key, value ... */
    NODE_ATTRIBUTE, /* left . name */
    NODE_ITEM,      /* left [ right ] */
    NODE_SLICE,     /* left [ arguments: from, to, step; NULL where absent ] */
    NODE_CALL,      /* left ( arguments ) */
    NODE_FILTER,    /* left | function ( arguments ) */
    NODE_TEST,      /* left is function ( arguments ) */
    NODE_NOT,       /* left */
    NODE_NEGATE,    /* left */
    NODE_PLUS,      /* left */
    NODE_AND,       /* left, right */
    NODE_OR,        /* left, right */
    NODE_CHOICE,    /* left if right else third, which may be NULL */
    NODE_COMPUTE,   /* left sign right */
    NODE_CONCAT,    /* arguments */
    NODE_COMPARE    /* left, then (sign, right) per argument */
} NodeKind;

typedef enum Sign {
    SIGN_ADD,
    SIGN_SUBTRACT,
    SIGN_MULTIPLY,
    SIGN_DIVIDE,
    SIGN_FLOOR_DIVIDE,
    SIGN_REMAINDER,
    SIGN_POWER,
    SIGN_EQUAL,
    SIGN_UNEQUAL,
    SIGN_LESS,
    SIGN_LESS_EQUAL,
    SIGN_GREATER,
    SIGN_GREATER_EQUAL,
    SIGN_IN,
    SIGN_NOT_IN
} Sign;

typedef struct Node Node;

/* An argument, an entry of a list, a parameter of a macro, one comparison. */
typedef struct Argument {
    const char *name; /* of a keyword argument or a parameter; else NULL */
    const Node *node; /* NULL: a parameter without default */
    Sign sign;
} Argument;

typedef struct Arguments {
    Argument *item;
    int64_t n, cap;
} Arguments;

typedef struct Body {
    const Node **item;
    int64_t n, cap;
} Body;

/* What `for` and `set` give values to: a name, an entry of a namespace, or several of them. */
typedef struct Target {
    const char *name, *entry; /* entry NULL: the name itself */
    int line, column;
} Target;

typedef struct Targets {
    Target *item;
    int64_t n, cap;
    bool is_tuple; /* the value is taken apart */
} Targets;

/* Names are unique pointers: two equal names of one template are one. */
struct Node {
    NodeKind kind;
    Sign sign;
    int line, column;
    const char *name;
    const struct Function *function;
    const Node *left, *right, *third;
    TemplateValue value;
    Arguments arguments;
    Targets targets;
    Body body, otherwise;
};
#endif
