/* `completion`: what a shell needs to complete commands, words and flags. The script asks the program itself for its
 * flags. */
#include "commands.h"
#include "tx/making.h"

#include <stdio.h>

static const char bash[] =
    "_candela_cli() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words\n"
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        words='%s version help'\n"
    "    elif [[ $cur == -* ]]; then\n"
    "        words=$(candela-cli \"$command\" --help 2>/dev/null | grep -oE -- '^ +--[a-z0-9-]+')\n"
    "    elif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
    "        case $command in\n"
    "        keys) words='create import list show export' ;;\n"
    "        tx) words='list build sign issue run' ;;\n"
    "        completion) words='bash zsh' ;;\n"
    "        esac\n"
    "    elif [[ $command == tx && ${COMP_WORDS[2]} =~ ^(build|run)$ ]]; then\n"
    "        words='%s'\n"
    "    fi\n"
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "}\n"
    "complete -o default -F _candela_cli candela-cli\n";

static const char zsh[] =
    "#compdef candela-cli\n"
    "_candela_cli() {\n"
    "    local -a list\n"
    "    if (( CURRENT == 2 )); then\n"
    "        list=(%s version help)\n"
    "    elif [[ $words[CURRENT] == -* ]]; then\n"
    "        list=(${(f)\"$(candela-cli $words[2] --help 2>/dev/null | grep -oE -- '--[a-z0-9-]+')\"})\n"
    "    elif (( CURRENT == 3 )); then\n"
    "        case $words[2] in\n"
    "        keys) list=(create import list show export) ;;\n"
    "        tx) list=(list build sign issue run) ;;\n"
    "        completion) list=(bash zsh) ;;\n"
    "        esac\n"
    "    elif [[ $words[2] == tx && $words[3] == (build|run) ]]; then\n"
    "        list=(%s)\n"
    "    fi\n"
    "    (( $#list )) && compadd -a list || _files\n"
    "}\n"
    "compdef _candela_cli candela-cli\n";

static void put_names(cd_buf *commands, cd_buf *kinds)
{
    usize cnt;
    const cd__make_row *rows = cd__make_rows(&cnt);
    for (usize i = 0; i < cnt; i++) {
        cd_buf_fmt(kinds, "%s%s", i == 0 ? "" : " ", rows[i].name);
    }
    const char *name;
    for (usize i = 0; (name = cd__command_name(i)) != NULL; i++) {
        cd_buf_fmt(commands, "%s%s", i == 0 ? "" : " ", name);
    }
}

int cd__completion_cmd(int argc, char **argv)
{
    const char *shell = argc == 2 ? argv[1] : "";
    bool is_bash = strcmp(shell, "bash") == 0;
    if (!is_bash && strcmp(shell, "zsh") != 0) {
        bool is_asked = strcmp(shell, "--help") == 0;
        (void)fprintf(is_asked ? stdout : stderr,
                      "candela-cli completion bash|zsh: prints what the shell reads, as in\n"
                      "  source <(candela-cli completion bash)\n");
        return is_asked ? 0 : 2;
    }
    cd_buf commands = {0};
    cd_buf kinds = {0};
    cd_buf text = {0};
    put_names(&commands, &kinds);
    if (is_bash) {
        cd_buf_fmt(&text, bash, cd_buf_cstr(&commands), cd_buf_cstr(&kinds));
    } else {
        cd_buf_fmt(&text, zsh, cd_buf_cstr(&commands), cd_buf_cstr(&kinds));
    }
    (void)fputs(cd_buf_cstr(&text), stdout);
    cd_buf_fini(&text);
    cd_buf_fini(&kinds);
    cd_buf_fini(&commands);
    return 0;
}
