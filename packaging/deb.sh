#!/bin/sh
# Packs a service for Debian: deb.sh PROGRAM FOLDER. The libraries it needs are asked of dpkg.
set -eu
program=$1
name=$(basename "$program")
short=${name#candela-}
case $short in
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
install -m 644 "$here/$short/grafana.json" "$root/usr/share/$name/grafana.json"
install -m 644 "$here/../LICENSE" "$root/usr/share/doc/$name/copyright"

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
echo /etc/candela/$short.env >"$root/DEBIAN/conffiles"
cat >"$root/DEBIAN/postinst" <<SCRIPT
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    [ -z "\${2:-}" ] || systemctl try-restart $name.service
fi
SCRIPT
cat >"$root/DEBIAN/prerm" <<SCRIPT
#!/bin/sh
set -e
if [ "\$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl stop $name.service
fi
SCRIPT
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
file=$out/${name}_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$root" "$file" >/dev/null
echo "$file"
