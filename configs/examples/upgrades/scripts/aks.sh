#!/bin/sh
# Upgrades a member that is an AKS cluster, with the Azure CLI, which must be logged in.
#
#   upgrade:
#     driver: exec
#     exec:
#       command: [configs/examples/upgrades/scripts/aks.sh]
#       inventory: [configs/examples/upgrades/scripts/aks-inventory.sh]
#       environment: {AKS_RESOURCE_GROUP: rg_prodapps_01, AKS_NAME: berlin}
#
# AKS offers no choice of a node image beside the newest of its region: an image that a run names is
# what the pools must at least have afterwards, and the agent's checks say so when they do not.
set -eu
: "${AKS_RESOURCE_GROUP:?the resource group of the cluster}"
AKS_NAME=${AKS_NAME:-$FLOTILLA_MEMBER}

say() { printf '{"percent": %d, "message": "%s"}\n' "$1" "$2"; }

cluster() {
  command=$1
  shift
  az aks "$command" --resource-group "$AKS_RESOURCE_GROUP" --name "$AKS_NAME" "$@" </dev/null
}

nodepool() {
  pool=$1
  shift
  az aks nodepool upgrade --resource-group "$AKS_RESOURCE_GROUP" --cluster-name "$AKS_NAME" --name "$pool" --yes "$@" --output none </dev/null
}

cat >/dev/null # the operation as JSON; the variables say all that is needed here
state=$(cluster show --query provisioningState --output tsv)
case $state in
Succeeded | Failed | Canceled) ;;
*)
  echo "$AKS_NAME is $state; nothing was changed" >&2
  exit 75
  ;;
esac
if [ "$FLOTILLA_DISABLE_UNATTENDED_UPGRADES" = true ]; then
  channel=$(cluster show --query autoUpgradeProfile.nodeOsUpgradeChannel --output tsv)
  if [ "$channel" = Unmanaged ]; then
    say 1 "unattended upgrades of the nodes are switched off"
    cluster update --node-os-upgrade-channel None --output none
  fi
fi
if [ -n "$FLOTILLA_CONTROL_PLANE_VERSION" ]; then
  current=$(cluster show --query currentKubernetesVersion --output tsv)
  if [ "$current" != "$FLOTILLA_CONTROL_PLANE_VERSION" ]; then
    say 5 "control plane $current to $FLOTILLA_CONTROL_PLANE_VERSION"
    cluster upgrade --kubernetes-version "$FLOTILLA_CONTROL_PLANE_VERSION" --control-plane-only --yes --output none
  fi
fi
moved=
while read -r pool version image; do
  if [ -z "$pool" ]; then continue; fi
  if [ "$version" != "-" ]; then
    say 40 "pool $pool to $version"
    nodepool "$pool" --kubernetes-version "$version"
  fi
  if [ "$image" != "-" ]; then
    say 60 "pool $pool to the newest image of its region"
    nodepool "$pool" --node-image-only
  fi
  moved="$moved${moved:+, }\"$pool\""
  printf '{"percent": 90, "message": "pool %s is done", "pools": [%s]}\n' "$pool" "$moved"
done <<END
$FLOTILLA_NODE_POOLS
END
say 100 "$AKS_NAME is done"
