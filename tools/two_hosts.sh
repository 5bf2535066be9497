#!/bin/sh
# two_hosts.sh - runs a command under mpirun on two hosts made of network namespaces: needs root, iproute2 and Open MPI.
#
# usage: two_hosts.sh N COMMAND...      N ranks on each of hosta and hostb, which see each other by TCP alone
set -eu
[ $# -ge 2 ] || { sed -n '4s/^# //p' "$0" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "two_hosts: namespaces need root" >&2; exit 2; }
ranks=$1
shift
id=modalities-$$
work=$(mktemp -d)
clean() {
    ip netns del "$id-a" 2>/dev/null || true
    ip netns del "$id-b" 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM
ip netns add "$id-a"
ip netns add "$id-b"
ip link add va$$ netns "$id-a" type veth peer name vb$$ netns "$id-b"
for host in a b; do
    ip -n "$id-$host" link set lo up
    ip -n "$id-$host" link set v$host$$ up
done
ip -n "$id-a" addr add 10.77.0.1/24 dev va$$
ip -n "$id-b" addr add 10.77.0.2/24 dev vb$$
printf '127.0.0.1 localhost\n10.77.0.1 hosta\n10.77.0.2 hostb\n' >"$work/hosts"

# Runs a command on a host: a network, a name, processes and temporary files of its own.
cat >"$work/on" <<END
#!/bin/sh
host=\$1
shift
mkdir -p $work/tmp-\$host
exec ip netns exec $id-\${host#host} unshare --uts --pid --fork --kill-child --mount --mount-proc sh -c '
    hostname "\$0" && mount --bind $work/hosts /etc/hosts && export TMPDIR=$work/tmp-\$0 && eval "\$1"' "\$host" "\$*"
END
chmod +x "$work/on"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$work/on" hosta mpirun --mca plm_rsh_agent "$work/on" --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24 \
    --oversubscribe --host "hosta:$ranks,hostb:$ranks" -x MODALITIES_MPI ${MPIRUN_FLAGS:-} "$@"
