#!/bin/sh
# Packs candela-pricing for Debian: deb.sh PROGRAM FOLDER. The libraries it needs are asked of dpkg.
set -eu
program=$1
out=$2
here=$(cd "$(dirname "$0")" && pwd)
version=$("$program" --version | sed -n 's/.*[ /]\([0-9][0-9.]*\).*/\1/p' | head -1)
arch=$(dpkg --print-architecture)
root=$out/root
rm -rf "$root"
mkdir -p "$root/DEBIAN" "$root/usr/share/doc/candela-pricing" "$root/usr/share/candela-pricing"

install -D -m 755 "$program" "$root/usr/bin/candela-pricing"
strip "$root/usr/bin/candela-pricing"
install -D -m 644 "$here/pricing/candela-pricing.service" "$root/lib/systemd/system/candela-pricing.service"
install -D -m 600 "$here/pricing/pricing.env" "$root/etc/candela/pricing.env"
install -m 644 "$here/pricing/grafana.json" "$root/usr/share/candela-pricing/grafana.json"
install -m 644 "$here/../LICENSE" "$root/usr/share/doc/candela-pricing/copyright"

mkdir -p "$out/debian"
printf 'Source: candela\n\nPackage: candela-pricing\nArchitecture: any\n' >"$out/debian/control"
libraries=$(cd "$out" && dpkg-shlibdeps -O root/usr/bin/candela-pricing 2>/dev/null | sed -n 's/^shlibs:Depends=//p')

cat >"$root/DEBIAN/control" <<CONTROL
Package: candela-pricing
Version: $version
Architecture: $arch
Maintainer: Candela <candela@localhost>
Section: net
Priority: optional
Depends: $libraries, ca-certificates
Description: pricing gateway between front ends and a market-data provider
 Keeps prices of tokens for an hour, merges calls, and answers the last known
 price when the provider fails.
CONTROL
echo /etc/candela/pricing.env >"$root/DEBIAN/conffiles"
cat >"$root/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    [ -z "${2:-}" ] || systemctl try-restart candela-pricing.service
fi
SCRIPT
cat >"$root/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl stop candela-pricing.service
fi
SCRIPT
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
file=$out/candela-pricing_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$root" "$file" >/dev/null
echo "$file"
