#!/usr/bin/env bash
# Makes target/package/dunlin_VERSION-REVISION_ARCHITECTURE.deb of target/release/dunlin and checks
# it. The version is that of Cargo.toml; REVISION (1) counts packages of one version. The same
# commit and binary give the same bytes.
#
#   scripts/package.sh                make and check
#   scripts/package.sh check FILE     check a package that is there
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "package: $*" >&2
    exit 1
}

# What a package must hold whatever lintian thinks. Changes nothing.
check() {
    local deb=$1 listing control scripts
    listing=$(dpkg-deb --contents "$deb")
    while read -r mode path; do
        grep -qE "^$mode root/root .* \./$path\$" <<<"$listing" || fail "$deb lacks $path, $mode of root"
    done <<-'END'
		-rwxr-xr-x usr/bin/dunlin
		-rw-r--r-- usr/lib/systemd/system/dunlin.service
		-rw-r--r-- etc/dunlin/dunlin.toml
		-rw-r--r-- usr/share/man/man1/dunlin.1.gz
		-rw-r--r-- usr/share/man/man1/dunlin-serve.1.gz
		-rw-r--r-- usr/share/doc/dunlin/README.md
		-rw-r--r-- usr/share/doc/dunlin/copyright
		-rw-r--r-- usr/share/doc/dunlin/third-party-licences.gz
	END
    if grep -v ' root/root ' <<<"$listing"; then fail "$deb: not all is root's"; fi
    # dpkg would remove data that belongs to the package.
    if grep -q ' \./var' <<<"$listing"; then fail "$deb holds something below /var"; fi
    control=$(dpkg-deb --field "$deb")
    grep -q '^Depends: .*libc6 (>= ' <<<"$control" || fail "$deb depends on no libc6"
    scripts=$(mktemp -d)
    dpkg-deb --control "$deb" "$scripts"
    grep -qx /etc/dunlin/dunlin.toml "$scripts/conffiles" || fail "$deb: its settings would be overwritten by an upgrade"
    for script in postinst prerm postrm; do
        sh -n "$scripts/$script" || fail "$deb: $script"
    done
    rm -rf "$scripts"
    if command -v lintian >/dev/null; then
        lintian --fail-on error "$deb" || fail "lintian finds errors in $deb"
    else
        echo "package: lintian is not installed, and was not asked" >&2
    fi
    dpkg-deb --info "$deb"
}

if [ "${1:-}" = check ]; then
    check "${2:?scripts/package.sh check FILE}"
    exit 0
fi

for tool in dpkg-deb dpkg-shlibdeps strip python3 jq; do
    command -v "$tool" >/dev/null || fail "$tool is missing; on Debian: make setup"
done
version=$(sed -n '/^\[workspace.package\]/,/^\[[^w]/s/^version = "\(.*\)"/\1/p' Cargo.toml)
deb_version=$version-${REVISION:-1}
architecture=$(dpkg --print-architecture)
binary=target/release/dunlin
[ -x "$binary" ] || fail "$binary is not there; make it with: make build"
[ "$("$binary" --version)" = "dunlin $version" ] ||
    fail "$binary is $("$binary" --version), Cargo.toml says $version; make it anew with: make build"
maintainer=${MAINTAINER:-Dunlin maintainers <maintainers@dunlin.invalid>}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
umask 022

out=target/package
root=$out/root
rm -rf "$out"
doc=$root/usr/share/doc/dunlin
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/etc/dunlin" "$root/usr/share/man/man1" "$doc"

strip --strip-unneeded --remove-section=.comment -o "$root/usr/bin/dunlin" "$binary"
chmod 755 "$root/usr/bin/dunlin"
install -m 644 packaging/dunlin.service "$root/usr/lib/systemd/system/"

# A node must not come up under a name, or with metadata, that nobody chose.
sed -E -e 's|^data = .*|data = "/var/lib/dunlin"|' -e 's/^(name|metadata) = /# \1 = /' \
    -e 's|--config dunlin.toml|--config /etc/dunlin/dunlin.toml|' dunlin.toml >"$root/etc/dunlin/dunlin.toml"
echo /etc/dunlin/dunlin.toml >"$root/DEBIAN/conffiles"
# A binary older than dunlin.toml would refuse it.
settings=$(env -i "$binary" serve --config "$root/etc/dunlin/dunlin.toml" --name n1 --metadata embedded --print-config) ||
    fail "$binary does not take the settings of dunlin.toml; make it anew with: make build"
grep -q '^data = "/var/lib/dunlin"' <<<"$settings" || fail "dunlin.toml has no line for data any more"
if grep -qE '^(name|metadata) *=' "$root/etc/dunlin/dunlin.toml"; then
    fail "dunlin.toml names a node in a way that is not taken out here"
fi

scripts/man.py "$binary" "$root/usr/share/man/man1"
gzip --best --no-name "$root"/usr/share/man/man1/*.1

install -m 644 README.md LICENSE SECURITY.md CONTRIBUTING.md CHANGELOG.md dunlin.toml packaging/deb/copyright "$doc"
cp -r docs "$doc/"
chmod -R u=rwX,go=rX "$doc"
scripts/licences.sh | gzip --best --no-name >"$doc/third-party-licences.gz"
gzip --best --no-name >"$doc/changelog.Debian.gz" <<END
dunlin ($deb_version) unstable; urgency=medium

  * Dunlin $version; what is new is in CHANGELOG.md.

 -- $maintainer  $(date --utc --rfc-email --date "@$SOURCE_DATE_EPOCH")
END

# dpkg-shlibdeps wants to stand beside a debian/control.
mkdir -p "$out/shlibs/debian"
printf 'Source: dunlin\n\nPackage: dunlin\nArchitecture: any\n' >"$out/shlibs/debian/control"
depends=$(cd "$out/shlibs" && dpkg-shlibdeps -O "../root/usr/bin/dunlin" | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || fail "dpkg-shlibdeps found no dependencies"

for script in postinst prerm postrm; do
    install -m 755 "packaging/deb/$script" "$root/DEBIAN/$script"
done
(cd "$root" && find . -path ./DEBIAN -prune -o -path ./etc -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
cat >"$root/DEBIAN/control" <<END
Package: dunlin
Version: $deb_version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(find "$root" -path "$root/DEBIAN" -prune -o -type f -printf '%s\n' | awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
Depends: $depends, adduser
Suggests: etcd-server, time-daemon
Section: database
Priority: optional
Description: replicated key-value store, one log for each shard
 Dunlin keeps keys and values on several machines. A write is acknowledged when
 as many replicas have it as was asked for, by default on the disks of two out
 of three; any node answers, and a node that was away catches up by itself. It
 speaks plain HTTP.
 .
 This is one node, and the commands for all. It does not start before it has a
 name and a place for the cluster's metadata in /etc/dunlin/dunlin.toml.
END

# Whenever it was checked out.
find "$root" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
deb=$out/dunlin_${deb_version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --build "$root" "$deb" >/dev/null
rm -rf "$root" "$out/shlibs"
check "$deb"
echo "package: $deb"
