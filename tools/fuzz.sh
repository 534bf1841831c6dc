#!/usr/bin/env bash
# Runs all fuzz targets, or the named ones, for SECONDS each. Usage: tools/fuzz.sh SECONDS [TARGET...]. A crash is an
# error, and its input is in fuzz/artifacts. Without cargo-fuzz or a C++ compiler, prints the reason and does nothing.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=$1
shift
if ! command -v cargo-fuzz >/dev/null; then
    echo "skipped: fuzz targets need cargo-fuzz (cargo install cargo-fuzz --locked)"
    exit 0
fi
if ! command -v c++ >/dev/null; then
    echo "skipped: fuzz targets need a C++ compiler, with which libFuzzer is built (Debian package g++)"
    exit 0
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cargo fuzz list)
for target in "${targets[@]}"; do
    # New inputs are written to fuzz/found, which is not committed; fuzz/corpus is.
    mkdir -p "found/$target"
    # Documents and studies have mutators of their own, whose form is longer than the file. With libFuzzer's growing
    # limit of length that form would be cut off, and only mutations of bytes would remain. Several mutations at once
    # mostly give a document that is rejected, so the depth is 1.
    whole=()
    [[ $target == document || $target == study ]] && whole=(-len_control=0 -mutate_depth=1 -cross_over=0)
    # Without a sanitizer the stable toolchain is sufficient; nearly all code is safe Rust.
    cargo fuzz run --sanitizer none "$target" "found/$target" "corpus/$target" -- \
        -max_total_time="$seconds" -timeout=30 -max_len=20000 -rss_limit_mb=3000 -print_final_stats=1 "${whole[@]}"
done
