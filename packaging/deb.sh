#!/bin/sh
# Packs the node or a service for Debian: deb.sh PROGRAM FOLDER. The libraries it needs are asked of dpkg; the licences of
# what is compiled in lie beside it.
set -eu
program=$1
name=$(basename "$program")
short=${name#candela-}
case $short in
candela)
    short=node
    summary="node of a multi-chain network"
    text=" Runs the chains of a network in one process: P, X and C with their interfaces,
 or a development chain with pages that show it."
    ;;
pricing)
    summary="pricing gateway between front ends and a market-data provider"
    text=" Keeps prices of tokens for an hour, merges calls, and answers the last known
 price when the provider fails."
    ;;
webhooks)
    summary="tells webhooks what happens on a chain"
    text=" Follows a node, matches transfers, logs and blocks, and delivers signed events
 with retries, a ledger and a dashboard."
    ;;
adx)
    summary="ad exchange: OpenRTB, VAST, sealed auctions, a ledger"
    text=" Takes bid requests and players, asks campaigns and bidders, proves the outcome
 of sealed auctions, and keeps books that balance."
    ;;
*)
    echo "deb.sh: $name is not known" >&2
    exit 2
    ;;
esac
out=$2
here=$(cd "$(dirname "$0")" && pwd)
version=$("$program" --version | sed -n 's/.*[ /]\([0-9][0-9.]*\).*/\1/p' | head -1)
arch=$(dpkg --print-architecture)
root=$out/root
rm -rf "$root"
mkdir -p "$root/DEBIAN" "$root/usr/share/doc/$name" "$root/usr/share/$name"

install -D -m 755 "$program" "$root/usr/bin/$name"
strip "$root/usr/bin/$name"
install -D -m 644 "$here/$short/$name.service" "$root/lib/systemd/system/$name.service"
install -D -m 600 "$here/$short/$short.env" "$root/etc/candela/$short.env"
conffiles=/etc/candela/$short.env
if [ -f "$here/$short/$short.json" ]; then
    install -D -m 644 "$here/$short/$short.json" "$root/etc/candela/$short.json"
    conffiles="$conffiles
/etc/candela/$short.json"
fi
if [ "$short" = adx ]; then # names that select a command
    for link in adx-exchange adx-miner adxd; do
        ln -s "$name" "$root/usr/bin/$link"
    done
    install -D -m 644 "$here/adx/$name-miner.service" "$root/lib/systemd/system/$name-miner.service"
    install -D -m 600 "$here/adx/adx-miner.env" "$root/etc/candela/adx-miner.env"
    conffiles="$conffiles
/etc/candela/adx-miner.env"
fi
if [ "$short" = node ]; then # the C-Chain's VM, which it starts, and the command line
    for beside in candela-evm candela-cli; do
        if [ -f "$(dirname "$program")/$beside" ]; then
            install -m 755 "$(dirname "$program")/$beside" "$root/usr/bin/$beside"
            strip "$root/usr/bin/$beside"
        fi
    done
fi
if [ -f "$here/$short/grafana.json" ]; then
    install -m 644 "$here/$short/grafana.json" "$root/usr/share/$name/grafana.json"
fi
cat "$here/../NOTICE" "$here/../LICENSE" >"$root/usr/share/doc/$name/copyright"
for library in blake3 blst c-kzg curl-sys oqs-sys secp256k1-sys yyjson-sys sha3-asm httptools; do
    for folder in "$here"/../build/third_party/*/"$library"-[0-9]*; do
        find "$folder" -maxdepth 5 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' \) 2>/dev/null | while read -r file; do
            place=${file#"$folder"/}
            install -D -m 644 "$file" "$root/usr/share/doc/$name/licences/$library/$place"
        done
    done
done

# What a release has inside of the store's engine (cmake/rocksdb.cmake), and of the keystore.
for package in libargon2-1 librocksdb7.8 libsnappy1v5 liblz4-1 libbz2-1.0 libgflags2.2 libstdc++6; do
    if [ -f "/usr/share/doc/$package/copyright" ]; then
        install -D -m 644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$name/licences/$package/copyright"
    fi
done

mkdir -p "$out/debian"
printf 'Source: candela\n\nPackage: %s\nArchitecture: any\n' "$name" >"$out/debian/control"
libraries=$(cd "$out" && dpkg-shlibdeps -O root/usr/bin/$name 2>/dev/null | sed -n 's/^shlibs:Depends=//p')

cat >"$root/DEBIAN/control" <<CONTROL
Package: $name
Version: $version
Architecture: $arch
Maintainer: Candela <candela@localhost>
Section: net
Priority: optional
Depends: $libraries, ca-certificates
Description: $summary
$text
CONTROL
echo "$conffiles" >"$root/DEBIAN/conffiles"
cat >"$root/DEBIAN/postinst" <<SCRIPT
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    [ -z "\${2:-}" ] || systemctl try-restart '$name*.service'
fi
SCRIPT
cat >"$root/DEBIAN/prerm" <<SCRIPT
#!/bin/sh
set -e
if [ "\$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl stop '$name*.service'
fi
SCRIPT
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
file=$out/${name}_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$root" "$file" >/dev/null
echo "$file"
