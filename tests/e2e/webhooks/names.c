/* Names that a test makes up, for a program that is started with this library in LD_PRELOAD: each line of the file
 * CANDELA_TEST_NAMES is a name and its addresses, read anew at every question; other names do not exist. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int lookup_fn(const char *, const char *, const struct addrinfo *, struct addrinfo **);

/* The line of a name, without the name; line is its buffer. */
static char *addresses_of(char *line, int size, const char *name)
{
    const char *path = getenv("CANDELA_TEST_NAMES");
    FILE *f = path == NULL ? NULL : fopen(path, "r");
    char *found = NULL;
    size_t n = strlen(name);
    while (f != NULL && found == NULL && fgets(line, size, f) != NULL) {
        found = strncmp(line, name, n) == 0 && line[n] == ' ' ? line + n : NULL;
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return found;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    lookup_fn *real = (lookup_fn *)dlsym(RTLD_NEXT, "getaddrinfo");
    struct addrinfo asked = hints == NULL ? (struct addrinfo){0} : *hints;
    char line[512];
    char *rest = name == NULL ? NULL : addresses_of(line, sizeof line, name);
    asked.ai_flags |= AI_NUMERICHOST;
    if (rest == NULL) {
        return real(name, service, &asked, out);
    }
    int err = EAI_NONAME;
    for (const char *word; (word = strtok_r(rest, " \n", &rest)) != NULL;) {
        err = real(word, service, &asked, out);
        if (err != 0) {
            return err;
        }
        while (*out != NULL) {
            out = &(*out)->ai_next;
        }
    }
    return err;
}
