#!/bin/sh
# Upgrades a member that kubeadm made, node by node over ssh: the control plane first, then the nodes
# of each pool. Nodes that are there already are left alone, so that a later attempt goes on.
#
#   upgrade:
#     driver: exec
#     exec:
#       command: [configs/examples/upgrades/scripts/kubeadm.sh]
#       environment: {KUBECONFIG: /etc/flotilla/berlin.conf, POOL_LABEL: example.com/pool}
#
# POOL_LABEL  label whose value is the pool of a node; empty: every node that is no control plane
#             belongs to every pool
# SSH         how a node is reached, "ssh -o BatchMode=yes" by default; the user there needs sudo
# Nodes are expected to be Debian or Ubuntu with the Kubernetes packages of a repository whose URL
# holds the minor version, as the documentation of kubeadm sets it up.
set -eu
POOL_LABEL=${POOL_LABEL:-}
SSH=${SSH:-ssh -o BatchMode=yes}
control_plane=node-role.kubernetes.io/control-plane

say() { printf '{"percent": %d, "message": "%s"}\n' "$1" "$2"; }

nodes() { kubectl get nodes -l "$1" -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}'; }

kubelet() { kubectl get node "$1" -o 'jsonpath={.status.nodeInfo.kubeletVersion}'; }

# on NODE: runs standard input as root there.
on() { $SSH "$1" sudo sh -eu; }

# packages NODE VERSION NAMES...: installs these packages in that version.
packages() {
  node=$1 version=$2
  shift 2
  wanted=
  for name in "$@"; do wanted="$wanted $name=$version-*"; done
  on "$node" <<END
sed -i 's|/v[0-9][0-9.]*/deb/|/v${version%.*}/deb/|' /etc/apt/sources.list.d/kubernetes.list
apt-get update -q
apt-get install -q -y --allow-change-held-packages $wanted
END
}

# renew NODE VERSION: moves the kubelet of a node whose kubeadm part is done.
renew() {
  kubectl drain "$1" --ignore-daemonsets --delete-emptydir-data --timeout=30m
  packages "$1" "$2" kubelet kubectl
  echo 'systemctl daemon-reload && systemctl restart kubelet' | on "$1"
  kubectl uncordon "$1"
  kubectl wait --for=condition=Ready "node/$1" --timeout=10m
}

upgrade_control_plane() {
  version=$1 command="kubeadm upgrade apply -y v$1"
  list=$(nodes "$control_plane")
  for node in $list; do
    if [ "$(kubelet "$node")" = "v$version" ]; then
      command="kubeadm upgrade node"
      continue
    fi
    say 10 "control plane node $node to $version"
    packages "$node" "$version" kubeadm
    echo "$command" | on "$node"
    renew "$node" "$version"
    command="kubeadm upgrade node"
  done
}

upgrade_pool() {
  pool=$1 version=$2
  selector="!$control_plane"
  if [ -n "$POOL_LABEL" ]; then selector="$selector,$POOL_LABEL=$pool"; fi
  list=$(nodes "$selector")
  for node in $list; do
    if [ "$(kubelet "$node")" = "v$version" ]; then continue; fi
    say 50 "node $node of pool $pool to $version"
    packages "$node" "$version" kubeadm
    echo "kubeadm upgrade node" | on "$node"
    renew "$node" "$version"
  done
}

cat >/dev/null # the operation as JSON; the variables say all that is needed here
if ! kubectl get --raw /readyz >/dev/null; then
  echo "the API server is not ready; nothing was changed" >&2
  exit 75
fi
# What cannot be done is said before anything is.
while read -r pool version image; do
  if [ -n "$pool" ] && [ "$version" = "-" ]; then
    echo "pool $pool: kubeadm makes no nodes, so it cannot give them image $image" >&2
    exit 2
  fi
done <<END
$FLOTILLA_NODE_POOLS
END
if [ -n "$FLOTILLA_CONTROL_PLANE_VERSION" ]; then upgrade_control_plane "$FLOTILLA_CONTROL_PLANE_VERSION"; fi
moved=
# Descriptor 3, so that ssh does not read the list of pools.
while read -r pool version image <&3; do
  if [ -z "$pool" ]; then continue; fi
  upgrade_pool "$pool" "$version"
  moved="$moved${moved:+, }\"$pool\""
  printf '{"percent": 90, "message": "pool %s is done", "pools": [%s]}\n' "$pool" "$moved"
done 3<<END
$FLOTILLA_NODE_POOLS
END
say 100 "all nodes are done"
