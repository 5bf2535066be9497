/* settings.c - a plugin's table of settings as one of the program. */
#include "plugin/parts.h"
#include <string.h>

static Error *type_of(const ModalitiesSetting *s, FieldType *out)
{
    static const FieldType type[] = { [MODALITIES_INT] = FIELD_INT,
                                      [MODALITIES_FLOAT] = FIELD_FLOAT,
                                      [MODALITIES_BOOL] = FIELD_BOOL,
                                      [MODALITIES_TEXT] = FIELD_STRING };
    if (s->type <= MODALITIES_END || s->type > MODALITIES_TEXT)
        return error_new("the setting %s has type %d; allowed: MODALITIES_INT, _FLOAT, _BOOL, "
                         "_TEXT",
                         s->name, (int)s->type);
    *out = type[s->type];
    return NULL;
}

static size_t bytes_of(FieldType t)
{
    return t == FIELD_BOOL ? sizeof(bool) : 8;
}

static Error *put_row(const ModalitiesSetting *s, size_t size, Field *out)
{
    FieldType type;
    TRY(type_of(s, &type));
    if (s->offset + bytes_of(type) > size)
        return error_new("the setting %s lies at byte %zu of a struct of settings_size %zu",
                         s->name, s->offset, size);
    *out = (Field){ .name = s->name,
                    .type = type,
                    .offset = OWN_SETTINGS + s->offset,
                    .fallback = s->fallback,
                    .min = s->min,
                    .max = s->max,
                    .doc = s->doc ? s->doc : "" };
    return NULL;
}

Error *plugin_fields(Arena *a, const Field *own, const ModalitiesSetting *settings, size_t size,
                     const Field **out)
{
    int n_own = 0, n = 0;
    while (own && own[n_own].type != FIELD_END) n_own++;
    while (settings && settings[n].name) n++;
    Field *all = NEW_N(a, Field, n_own + n + 1);
    if (n_own) memcpy(all, own, (size_t)n_own * sizeof *all);
    for (int i = 0; i < n; i++) TRY(put_row(&settings[i], size, &all[n_own + i]));
    *out = all;
    return fields_verify(all);
}

Error *plugin_component(Arena *a, ComponentDef own, const ModalitiesSetting *settings,
                        size_t settings_size, ComponentDef *out)
{
    TRY(plugin_fields(a, own.fields, settings, settings_size, &own.fields));
    if (!own.doc) own.doc = "";
    own.settings_size = OWN_SETTINGS + settings_size;
    *out = own;
    return NULL;
}

const void *plugin_settings(const void *settings)
{
    return settings ? (const char *)settings + OWN_SETTINGS : NULL;
}
