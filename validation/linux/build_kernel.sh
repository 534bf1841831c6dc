#!/usr/bin/env bash
# Build the Linux kernel as a program (User-Mode Linux) with virtual time and every queueing discipline.
#
#   validation/linux/build_kernel.sh FOLDER     builds FOLDER/linux; takes 5 to 10 minutes on two cores
#
# The source is Debian's package linux-source-6.1, unmodified (`LINUX_SOURCE` names another archive); only the configuration
# is changed. The build needs gcc, make, flex, bison, bc and libelf-dev.
set -euo pipefail

folder=${1:?usage: build_kernel.sh FOLDER}
source=${LINUX_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
if [[ ! -e $source ]]; then
    echo "no $source: install the Debian packages linux-source-6.1, flex, bison, bc, libelf-dev" >&2
    exit 1
fi
mkdir -p "$folder"
tree=$folder/$(basename "$source" .tar.xz)
[[ -d $tree ]] || tar -xf "$source" -C "$folder"
cd "$tree"

make ARCH=um defconfig >/dev/null
options=(
    # Virtual time: the clock stops while the kernel works, and jumps to the next timer (`time-travel=` in
    # arch/um/kernel/time.c).
    UML_TIME_TRAVEL_SUPPORT HIGH_RES_TIMERS
    HOSTFS TMPFS
    NAMESPACES NET NET_NS INET UNIX PACKET VETH DUMMY TUN BRIDGE IFB IP_MULTIPLE_TABLES
    INET_DIAG INET_TCP_DIAG INET_UDP_DIAG
    NETFILTER NF_CONNTRACK
    TCP_CONG_ADVANCED TCP_CONG_CUBIC TCP_CONG_DCTCP TCP_CONG_BBR TCP_CONG_VEGAS TCP_CONG_WESTWOOD TCP_CONG_HTCP
    NET_SCHED NET_EMATCH NET_EMATCH_CMP NET_EMATCH_U32 NET_CLS NET_CLS_ACT
    NET_CLS_{U32,FW,FLOW,FLOWER,MATCHALL,BASIC}
    NET_ACT_{POLICE,MIRRED,SKBEDIT,GACT,PEDIT}
    NET_SCH_{HTB,HFSC,PRIO,MULTIQ,RED,SFB,SFQ,TBF,CBS,GRED,NETEM,DRR,MQPRIO,SKBPRIO,CHOKE,QFQ,CODEL,FQ_CODEL,CAKE}
    NET_SCH_{FQ,HHF,PIE,FQ_PIE,INGRESS,PLUG,ETS,FIFO,TEQL}
)
for option in "${options[@]}"; do
    ./scripts/config --enable "$option"
done
for option in SOUND DEBUG_INFO DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT XFS_FS BTRFS_FS EXT4_FS REISERFS_FS; do
    ./scripts/config --disable "$option"
done
make ARCH=um olddefconfig >/dev/null
make ARCH=um -j"$(nproc)" linux >/dev/null
cp linux ../linux
