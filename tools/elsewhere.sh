# What tools have in common that unpack packages of another Debian suite without touching the system. Sourced by them;
# they set `tool`, the name that messages begin with, and `work`, a folder of their own.
#
# Packages come through apt's own client, with lists, state and cache in a private folder. The archive's address, proxies
# and credentials are those that apt is configured with. Works as root and as a user.

say() { printf '%s: %s\n' "$tool" "$*" >&2; }
die() { printf '%s: %s\n' "$tool" "$*" >&2; exit 1; }

# Run quietly; on failure show what the tool said.
quietly() {
    "$@" >"$work/output" 2>&1 || { tail -n 5 "$work/output" >&2; die "failed: $1 $2"; }
}

need_apt() {
    for program in apt-get dpkg awk; do
        command -v "$program" >/dev/null || die "$program is missing: this tool needs Debian or one of its relatives"
    done
}

# A work folder next to the final folder; removed at the end. Leftovers of a killed run are removed first.
begin_work() { # FOLDER
    for left in "$1-unpacking."*; do
        if [ -d "$left" ] && ! kill -0 "${left##*.}" 2>/dev/null; then rm -rf "$left"; fi
    done
    work="$1-unpacking.$$"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
    mkdir -p "$work" || die "cannot write to $(dirname "$1")"
}

# The first configured archive that serves this Debian release (or any Debian suite): apt itself reads its sources,
# one-line .list and deb822 .sources alike, and names the files that an update would fetch.
debian_archive() {
    release=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    uris=$(apt-get update --print-uris 2>/dev/null | sed -n "s/^'\([^']*\)'.*/\1/p")
    for suite in "$release" unstable sid testing stable; do
        [ -n "$suite" ] || continue
        found=$(printf '%s\n' "$uris" | sed -n "s,/dists/$suite/InRelease\$,,p" | grep 'debian' | head -n 1)
        if [ -n "$found" ]; then
            printf '%s\n' "$found"
            return
        fi
    done
}

# From here on apt knows that suite of that archive, and nothing else.
write_private_apt() { # ARCHIVE SUITE
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/debs"
    : >"$work/apt/status"
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    (
        umask 077 # the address may carry credentials
        printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nTargets: Packages\n' "$1" "$2"
        if [ -r "$keyring" ]; then printf 'Signed-By: %s\n' "$keyring"; fi
    ) >"$work/apt/suite.sources"
    # An empty status file makes every library count as missing, so that all of them are taken. The hooks are cleared
    # because they act on the system's own cache.
    cat >"$work/apt/apt.conf" <<CONF
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
Dir::State "$work/apt";
Dir::State::lists "$work/apt/lists";
Dir::State::status "$work/apt/status";
Dir::State::extended_states "$work/apt/extended_states";
Dir::Cache "$work/apt/cache";
Dir::Etc::sourcelist "$work/apt/suite.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Install-Recommends "false";
APT::Update::Error-Mode "any";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
    export APT_CONFIG="$work/apt/apt.conf"
}

# That package and the shared libraries that it needs, a line each; the maintainer scripts' needs (perl and its
# databases) stay out.
with_libraries() { # PACKAGE
    apt-get install --simulate "$1" 2>"$work/apt/error" \
        | awk '$1 == "Inst" { print $2 }' \
        | grep -E "^(lib|zlib1g\$|$1\$|gcc-[0-9]+-base\$)" \
        | grep -vE '^lib(perl|gdbm|db5)'
}

# Downloaded and unpacked below $work/root, without manuals.
unpack() { # PACKAGE...
    cd "$work/debs"
    quietly apt-get download "$@"
    for deb in "$work"/debs/*.deb; do
        quietly dpkg -x "$deb" "$work/root"
    done
    cd "$work"
    rm -rf "$work/root/usr/share/doc" "$work/root/usr/share/man" "$work/root/usr/share/locale"
}

# What a server in that folder says of its version, run by the loader and with the libraries that are there.
version_within() { # ROOT PROGRAM
    [ -x "$1/$2" ] || return 1
    loader=$(find "$1/usr/lib" "$1/usr/lib64" "$1/lib" "$1/lib64" -name 'ld-linux*.so.*' 2>/dev/null | head -n 1)
    [ -n "$loader" ] || return 1
    triplet=$(basename "$(dirname "$(find "$1/usr/lib" "$1/lib" -name 'libc.so.6' 2>/dev/null | head -n 1)")")
    places="$1/lib/$triplet:$1/usr/lib/$triplet:$1/usr/lib/mysql/private"
    "$loader" --inhibit-cache --library-path "$places" "$1/$2" --version
}
