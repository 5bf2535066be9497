#!/bin/sh
# check_two_hosts.sh - ranks on two hosts do what ranks do, and report one that dies or stops on the other host.
set -eu
cd "$(dirname "$0")/.."
export MODALITIES_MPI="$PWD/$BUILD/modalities-mpi.so"
status=0
# usage: expect NAME RANKS_PER_HOST FLAGS CASE TEXT...     every TEXT must be said
expect() {
    name=$1 ranks=$2 flags=$3 case=$4
    shift 4
    said=$(MPIRUN_FLAGS=$flags timeout 120 tools/two_hosts.sh "$ranks" "$PWD/$BUILD/tests/comm_ranks" "$case" 2>&1) || true
    for text in "$@"; do
        case $said in *"$text"*) ;; *)
            echo "FAIL $name: \"$text\" is missing in:"
            echo "$said"
            status=1
            return 0 ;;
        esac
    done
    echo "ok   $name"
}
for case in calls exchange groups threads; do
    expect "$case on two hosts" 2 "" $case "rank 0: done" "rank 1: done" "rank 2: done" "rank 3: done"
done
waits="rank 0 waited in all_reduce over dp_shard, layer 3, step 17"
expect "an abort reaches the other host" 1 "" abort "has had enough; $waits"
expect "a stopped rank of the other host is reported" 1 "" stop "on hostb) is dead or stopped: nothing was heard of it for 8 s; $waits"
expect "a killed rank of the other host is reported" 1 --enable-recovery die "on hostb) is dead or stopped: nothing was heard of it for 8 s; $waits"
expect "a killed rank of the other host is told before mpirun ends the job" 1 "" die \
    "rank 1 does not answer since the signal came; rank 0 waits in all_reduce over dp_shard, layer 3, step 17"
exit $status
