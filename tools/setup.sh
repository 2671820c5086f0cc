#!/bin/sh
# Makes a bare Debian 12 machine able to build and test Candela: packages from apt, and the bundled C
# sources that third_party/ pins. Installs only what is missing; a second run does nothing.
# Asks before it installs when there is a terminal and YES is not 1; without a terminal it goes ahead.
set -eu
cd "$(dirname "$0")/.."

# What the build needs, then what the tests and tools need on top (skipped with BUILD_ONLY=1).
build_packages="build-essential ninja-build cmake pkg-config perl python3 ccache ca-certificates
libuv1-dev libc-ares-dev libnghttp2-dev libssl-dev libhiredis-dev libsqlite3-dev libpq-dev librocksdb-dev libgmp-dev libsodium-dev libargon2-dev libzxcvbn-dev libcmocka-dev
libexpat1-dev libzstd-dev zlib1g-dev"
test_packages="clang lld libclang-rt-14-dev clang-tidy clang-format valgrind doxygen graphviz curl openssl
nghttp2-client redis-tools postgresql systemd testssl.sh wrk chromium libxml2-utils"

packages="$build_packages"
# What can come from elsewhere than apt counts when its command is there.
need() { command -v "$1" >/dev/null 2>&1 || packages="$packages $2"; }
need cargo cargo-web # Debian's smallest client that checks the lock file; any cargo >= 1.70 will do
need pip3 python3-pip # for the one source that no crate carries
if [ "${BUILD_ONLY:-0}" != 1 ]; then
    packages="$packages $test_packages"
    need node nodejs
    need npm npm
    need go golang-go # builds h2spec
fi

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "error: this is not a Debian system; install the counterparts of these yourself: $packages" >&2
    exit 1
fi
# shellcheck disable=SC2086 # a list of words
have=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' $packages 2>/dev/null |
    sed -n 's/ installed$//p' | tr '\n' ' ')
missing=""
for p in $packages; do
    case " $have" in *" $p "*) ;; *) missing="$missing $p" ;; esac
done

if [ -n "$missing" ]; then
    echo "candela needs packages that are not installed:$missing"
    if [ "$(id -u)" -eq 0 ]; then sudo=""; else sudo="sudo"; fi
    if [ -t 0 ] && [ "${YES:-0}" != 1 ]; then
        printf 'Install them with apt now? [Y/n] '
        read -r answer
        case "$answer" in [nN]*) echo "error: packages missing; install them and run again" >&2; exit 1 ;; esac
    elif [ -n "$sudo" ] && [ "${YES:-0}" != 1 ]; then
        echo "error: not root and no terminal to ask on: run 'YES=1 make setup' or install them" >&2
        exit 1
    fi
    echo "installing them, a few minutes"
    $sudo apt-get update -qq
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o Dpkg::Use-Pty=0 $missing >/dev/null
fi

# Bundled sources: vendored again only when the lock file has changed.
crates=build/third_party/crates
stamp=build/third_party/lock.sha256
want=$(sha256sum third_party/Cargo.lock | cut -d' ' -f1)
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$want" ]; then
    echo "fetching bundled sources"
    rm -rf "$crates"
    mkdir -p build/third_party
    (cd third_party && cargo vendor --locked --versioned-dirs ../build/third_party/crates >/dev/null 2>&1) || {
        echo "error: bundled sources could not be fetched or their hashes differ from third_party/Cargo.lock" >&2
        (cd third_party && cargo vendor --locked --versioned-dirs ../build/third_party/crates >/dev/null)
        exit 1
    }
    echo "$want" >"$stamp"
fi

# The same for the pins of third_party/requirements.txt. pip compares the hash before it looks inside
# (and runs the package's metadata step, hence the limit); it is compared again before unpacking.
pypi=build/third_party/pypi
stamp=build/third_party/pypi.sha256
want=$(sha256sum third_party/requirements.txt | cut -d' ' -f1)
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$want" ]; then
    echo "fetching bundled sources (llhttp)"
    rm -rf "$pypi"
    mkdir -p "$pypi"
    timeout 60 pip3 download -q --disable-pip-version-check --no-deps --no-binary :all: --require-hashes \
        -r third_party/requirements.txt -d "$pypi" || {
        echo "error: llhttp could not be fetched or its hash differs from third_party/requirements.txt" >&2
        exit 1
    }
    sum=$(sed -n 's/.*--hash=sha256://p' third_party/requirements.txt)
    echo "$sum  $pypi/httptools-0.9.0.tar.gz" | sha256sum -c --quiet -
    tar -xzf "$pypi/httptools-0.9.0.tar.gz" -C "$pypi" httptools-0.9.0/vendor/llhttp
    echo "$want" >"$stamp"
fi
