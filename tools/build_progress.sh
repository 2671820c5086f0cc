#!/bin/sh
# Shows a build as one moving line on a terminal, as nothing but warnings and errors elsewhere. Exits non-zero when
# the build's output holds a failure, since a pipe hides the builder's own status.
set -u
status=0
while IFS= read -r line; do
    case "$line" in
    \[*/*\]*)
        if [ -t 1 ]; then printf '\r\033[K  build  %.90s' "$line"; fi
        ;;
    "ninja: no work to do." | "-- "*) ;;
    *FAILED:* | "ninja: build stopped"* | "ninja: error"*)
        status=1
        printf '%s\n' "$line"
        ;;
    *) printf '%s\n' "$line" ;;
    esac
done
[ -t 1 ] && printf '\r\033[K'
exit $status
