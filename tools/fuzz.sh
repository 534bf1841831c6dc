#!/usr/bin/env bash
# Runs each fuzz target for so many seconds: tools/fuzz.sh SECONDS [TARGET...]. What is found lies in fuzz/artifacts and
# ends with an error; without cargo-fuzz or a C++ compiler one line says why nothing is done.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=$1
shift
if ! command -v cargo-fuzz >/dev/null; then
    echo "fuzz targets skipped: no cargo-fuzz; cargo install cargo-fuzz --locked"
    exit 0
fi
if ! command -v c++ >/dev/null; then
    echo "fuzz targets skipped: no C++ compiler, which libFuzzer is built with"
    exit 0
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cargo fuzz list)
for target in "${targets[@]}"; do
    # New inputs go to fuzz/found, which is not kept; those in fuzz/corpus are.
    mkdir -p "found/$target"
    # Documents and studies are changed as a whole, in a form that is longer than the file: a limit of length that grows
    # slowly would leave them to changes of bytes, and several changes on top of each other are mostly refused at once.
    whole=()
    [[ $target == document || $target == study ]] && whole=(-len_control=0 -mutate_depth=1 -cross_over=0)
    # No sanitizer: the code is safe Rust but for a few lines, and so the stable toolchain will do.
    cargo fuzz run --sanitizer none "$target" "found/$target" "corpus/$target" -- \
        -max_total_time="$seconds" -timeout=30 -max_len=20000 -rss_limit_mb=3000 -print_final_stats=1 "${whole[@]}"
done
