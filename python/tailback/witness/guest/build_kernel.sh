#!/usr/bin/env bash
# Build a Linux kernel as a program (User-Mode Linux) with virtual time, every queueing discipline and several congestion controls.
#
#   build_kernel.sh FOLDER     builds FOLDER/linux, with its version and hash in FOLDER/kernel.txt; 5 to 10 minutes on two cores
#
# The source is Debian's package linux-source-6.1, unmodified; only the configuration is chosen (kernel.config). The package, and those
# of flex, bison, m4, bc and libelf-dev that are missing, are downloaded by apt-get and unpacked into FOLDER; nothing is installed, and no
# root is needed. An installed archive or LINUX_SOURCE=ARCHIVE is used instead of the download. Needs gcc and make. A second call goes on
# where an interrupted one has stopped; a finished build of the same source and configuration is kept.
set -euo pipefail

folder=${1:?usage: build_kernel.sh FOLDER}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# missing REASON: ends with 3, since the kernel cannot be built on this machine
missing() {
    echo "the kernel cannot be built: $*" >&2
    exit 3
}
# broken REASON: ends with 1, since the build has failed
broken() {
    echo "the kernel was not built: $*" >&2
    exit 1
}
[[ $(uname -s) == Linux ]] || missing "User-Mode Linux needs Linux; this system is $(uname -s)"
[[ $(uname -m) == x86_64 ]] || missing "User-Mode Linux needs x86_64; this machine is $(uname -m)"
for tool in gcc make; do
    command -v $tool >/dev/null || missing "needs $tool (Debian packages gcc and make)"
done
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# fetch PACKAGE: downloads a Debian package and unpacks it into FOLDER/packages, once
fetch() {
    [[ ! -e $folder/packages/.$1 ]] || return 0
    command -v apt-get >/dev/null && command -v dpkg >/dev/null || missing "needs the Debian package $1, or apt-get and dpkg to download it"
    echo "downloading $1" >&2
    mkdir -p "$folder/packages" "$folder/download"
    (cd "$folder/download" && rm -f "$1"_*.deb && apt-get -q=2 download "$1" >&2 2> >(grep -v unsandboxed >&2)) ||
        missing "apt-get could not download $1; \`apt-get update\` may be needed"
    dpkg -x "$folder/download/$1"_*.deb "$folder/packages"
    rm "$folder/download/$1"_*.deb
    touch "$folder/packages/.$1"
}
for tool in flex bison m4 bc; do
    command -v $tool >/dev/null || fetch $tool
done
echo '#include <libelf.h>' | gcc -E - >/dev/null 2>&1 || { fetch libelf-dev && fetch libelf1; }
export PATH=$folder/packages/usr/bin:$PATH CPATH=$folder/packages/usr/include
export LIBRARY_PATH=$folder/packages/usr/lib/x86_64-linux-gnu LD_LIBRARY_PATH=$folder/packages/usr/lib/x86_64-linux-gnu
[[ ! -d $folder/packages/usr/share/bison ]] || export BISON_PKGDATADIR=$folder/packages/usr/share/bison
[[ ! -x $folder/packages/usr/bin/m4 ]] || export M4=$folder/packages/usr/bin/m4

source=${LINUX_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
if [[ ! -e $source ]]; then
    [[ -z ${LINUX_SOURCE:-} ]] || missing "there is no file $source (LINUX_SOURCE)"
    fetch linux-source-6.1
    source=$folder/packages/usr/src/linux-source-6.1.tar.xz
fi
inputs=$(cat "$source" "$here/kernel.config" | sha256sum | cut -d' ' -f1)
if [[ -x $folder/linux && $(sed -n 's/^inputs //p' "$folder/kernel.txt" 2>/dev/null) == "$inputs" ]]; then
    cat "$folder/kernel.txt"
    exit
fi

tree=$folder/source-${inputs:0:12}
if [[ ! -e $tree/.unpacked ]]; then
    mkdir -p "$tree"
    tar -xf "$source" -C "$tree" --strip-components=1
    touch "$tree/.unpacked"
fi
cd "$tree"
if [[ ! -e .configured ]]; then
    make ARCH=um defconfig >/dev/null
    cat "$here/kernel.config" >>.config
    make ARCH=um olddefconfig >/dev/null 2>&1
    grep -E '^(CONFIG|# CONFIG)' "$here/kernel.config" | while read -r line; do
        grep -qxF "$line" .config || [[ $line == *"is not set" ]] && ! grep -q "^$(cut -d' ' -f2 <<<"$line")=" .config ||
            broken "this source does not accept the line $line of kernel.config"
    done
    touch .configured
fi
echo "building Linux $(make -s ARCH=um kernelversion)" >&2
# The same time in each build, so that the same source and compiler give the same program.
export KBUILD_BUILD_TIMESTAMP=2000-01-01 KBUILD_BUILD_USER=tailback KBUILD_BUILD_HOST=tailback
make ARCH=um -j"$(nproc)" linux >"$folder/build.log" 2>&1 || broken "make failed: $(grep -m 3 -i error "$folder/build.log"); see $folder/build.log"
cp linux "$folder/linux.new"
{
    echo "version $(make -s ARCH=um kernelversion)"
    echo "compiler $(gcc --version | head -1)"
    echo "inputs $inputs"
    echo "sha256 $(sha256sum "$folder/linux.new" | cut -d' ' -f1)"
} >"$folder/kernel.txt"
mv "$folder/linux.new" "$folder/linux"
cd "$folder"
rm -rf "$tree"
cat "$folder/kernel.txt"
