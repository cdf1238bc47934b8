#!/bin/sh
# Prints how many cores a build and the tests may use: the least of what the system (affinity, the quota of control
# groups), Slurm (SLURM_CPUS_PER_TASK, SLURM_CPUS_ON_NODE) and OpenMP (OMP_NUM_THREADS, OMP_THREAD_LIMIT) allow. It
# is what common/base/cores.c finds for the programs.
#   packaging/cores.sh [GROUPS ROOT]    instead of /proc/self/cgroup and /sys/fs/cgroup
groups=${1:-/proc/self/cgroup} root=${2:-/sys/fs/cgroup}
cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null || echo 1)
least() { # of cores and a positive whole number
    case $1 in '' | *[!0-9]*) ;; *) if [ "$1" -gt 0 ] && [ "$1" -lt "$cores" ]; then cores=$1; fi ;; esac
}
quota() { # QUOTA PERIOD, in microseconds
    case $1$2 in '' | *[!0-9]*) return ;; esac
    if [ "$1" -gt 0 ] && [ "$2" -gt 0 ]; then least $(($1 < $2 ? 1 : $1 / $2)); fi
}
while IFS= read -r line; do
    controllers=${line#*:} group=${line#*:*:} controllers=${controllers%%:*}
    while :; do
        case $controllers in
        '') if [ -r "$root$group/cpu.max" ]; then read -r amount period <"$root$group/cpu.max" && quota "$amount" "$period"; fi ;;
        cpu | cpu,*) folder=$root/cpu$group
            if [ -r "$folder/cpu.cfs_quota_us" ] && [ -r "$folder/cpu.cfs_period_us" ]; then
                quota "$(cat "$folder/cpu.cfs_quota_us")" "$(cat "$folder/cpu.cfs_period_us")"
            fi ;;
        esac
        [ -n "$group" ] || break
        group=${group%/*}
    done
done 2>/dev/null <"$groups"
for limit in "$SLURM_CPUS_PER_TASK" "$SLURM_CPUS_ON_NODE" "${OMP_NUM_THREADS%%,*}" "$OMP_THREAD_LIMIT"; do least "$limit"; done
echo "$cores"
