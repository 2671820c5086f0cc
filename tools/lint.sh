#!/bin/sh
# Formatting, layers, style, spec anchors and clang-tidy. Looks at what differs from the last commit, at every file with ALL=1.
set -eu
cd "$(dirname "$0")/.."
if [ "${ALL:-0}" = 1 ]; then
    files=$(git ls-files 'src/*.c' 'src/*.h' 'services/*.c' 'services/*.h' 'apps/*.c' 'fuzz/*.c' 'tests/*.c')
else
    files=$(git diff --name-only --diff-filter=d HEAD -- '*.c' '*.h'; git ls-files -o --exclude-standard -- '*.c' '*.h')
fi
tools/check_layers.py
tools/check_style.py
tools/check_spec_anchors.py
[ -n "$files" ] || exit 0
echo "$files" | xargs clang-format --dry-run -Werror
sources=$(echo "$files" | grep '\.c$' || true)
[ -n "$sources" ] || exit 0
[ -f build/debug/compile_commands.json ] || cmake --preset debug >/dev/null
# shellcheck disable=SC2086 # a list of files without blanks
exec tools/check_tidy.py build/debug $sources
