#!/bin/sh
# Upgrades a member that runs k3s, node by node over ssh: servers first, then the agents of each pool,
# by running the installation script of k3s again. Nodes that are there already are left alone, so that
# a later attempt goes on.
#
#   upgrade:
#     driver: exec
#     exec:
#       command: [configs/examples/upgrades/scripts/k3s.sh]
#       environment: {KUBECONFIG: /etc/flotilla/lyon.conf, K3S_INSTALL: /opt/k3s/install.sh}
#
# K3S_INSTALL  where the installation script lies on the nodes, /usr/local/bin/k3s-install.sh by
#              default; the options of each node belong in its /etc/rancher/k3s/config.yaml
# K3S_SUFFIX   what k3s adds to the version of Kubernetes, "+k3s1" by default
# POOL_LABEL   label whose value is the pool of a node; empty: every agent belongs to every pool
# SSH          how a node is reached, "ssh -o BatchMode=yes" by default; the user there needs sudo
set -eu
K3S_INSTALL=${K3S_INSTALL:-/usr/local/bin/k3s-install.sh}
K3S_SUFFIX=${K3S_SUFFIX:-+k3s1}
POOL_LABEL=${POOL_LABEL:-}
SSH=${SSH:-ssh -o BatchMode=yes}
control_plane=node-role.kubernetes.io/control-plane

say() { printf '{"percent": %d, "message": "%s"}\n' "$1" "$2"; }

nodes() { kubectl get nodes -l "$1" -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}'; }

kubelet() { kubectl get node "$1" -o 'jsonpath={.status.nodeInfo.kubeletVersion}'; }

# renew NODE VERSION ROLE: installs k3s in that version; ROLE is server or agent.
renew() {
  kubectl drain "$1" --ignore-daemonsets --delete-emptydir-data --timeout=30m
  echo "INSTALL_K3S_VERSION=$2 sh $K3S_INSTALL $3" | $SSH "$1" sudo sh -eu
  kubectl uncordon "$1"
  kubectl wait --for=condition=Ready "node/$1" --timeout=10m
}

# upgrade SELECTOR VERSION ROLE PERCENT
upgrade() {
  list=$(nodes "$1")
  for node in $list; do
    if [ "$(kubelet "$node")" = "$2" ]; then continue; fi
    say "$4" "$3 $node to $2"
    renew "$node" "$2" "$3"
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
    echo "pool $pool: k3s makes no nodes, so it cannot give them image $image" >&2
    exit 2
  fi
done <<END
$FLOTILLA_NODE_POOLS
END
if [ -n "$FLOTILLA_CONTROL_PLANE_VERSION" ]; then
  upgrade "$control_plane" "v$FLOTILLA_CONTROL_PLANE_VERSION$K3S_SUFFIX" server 10
fi
moved=
# Descriptor 3, so that ssh does not read the list of pools.
while read -r pool version image <&3; do
  if [ -z "$pool" ]; then continue; fi
  selector="!$control_plane"
  if [ -n "$POOL_LABEL" ]; then selector="$selector,$POOL_LABEL=$pool"; fi
  upgrade "$selector" "v$version$K3S_SUFFIX" agent 50
  moved="$moved${moved:+, }\"$pool\""
  printf '{"percent": 90, "message": "pool %s is done", "pools": [%s]}\n' "$pool" "$moved"
done 3<<END
$FLOTILLA_NODE_POOLS
END
say 100 "all nodes are done"
