/* base/banned.h - makes libc calls with no safe use a compile error [spec:style#B5].
 *
 * The build puts this file in front of every source of ours (cmake/flags.cmake), before any system
 * header. The prototypes repeat libc's and add the attribute; -Werror does the rest, and uses
 * inside system headers stay silent. alloca is a compiler built-in: -Walloca bans it. Threading:
 * pure. */
#ifndef CD_BASE_BANNED_H
#define CD_BASE_BANNED_H

#ifndef __cplusplus

#define CD_BANNED(instead) __attribute__((deprecated("banned, use " instead)))

struct tm;
struct _IO_FILE;

/* Functions of libc that do not compile in our code; the message names what to use. */
char *strcpy(char *restrict, const char *restrict) CD_BANNED("cd_buf or memcpy");
char *strcat(char *restrict, const char *restrict) CD_BANNED("cd_buf");
char *strncpy(char *restrict, const char *restrict, __SIZE_TYPE__) CD_BANNED("memcpy");
char *strncat(char *restrict, const char *restrict, __SIZE_TYPE__) CD_BANNED("cd_buf");
char *strtok(char *restrict, const char *restrict) CD_BANNED("a cursor");
int sprintf(char *restrict, const char *restrict, ...) CD_BANNED("snprintf or cd_buf_fmt");
int vsprintf(char *restrict, const char *restrict, __builtin_va_list) CD_BANNED("vsnprintf");
char *gets(char *) CD_BANNED("fgets");
int atoi(const char *) CD_BANNED("base/num_text.h");
long atol(const char *) CD_BANNED("base/num_text.h");
double atof(const char *) CD_BANNED("base/num_text.h");
int rand(void) CD_BANNED("base/os/rng.h");
long random(void) CD_BANNED("base/os/rng.h");
struct tm *localtime(const long *) CD_BANNED("gmtime_r or base/os/clock.h");
struct tm *gmtime(const long *) CD_BANNED("gmtime_r");
char *ctime(const long *) CD_BANNED("base/os/clock.h");
char *asctime(const struct tm *) CD_BANNED("base/os/clock.h");
int system(const char *) CD_BANNED("a worker job");
struct _IO_FILE *popen(const char *, const char *) CD_BANNED("a worker job");

#undef CD_BANNED

#endif
#endif
