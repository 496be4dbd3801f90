#!/bin/sh
# Launches a node as a virtual machine of Azure, with the Azure CLI, which must be logged in.
#
#   nodes:
#     provider: exec
#     exec:
#       launch: [configs/examples/nodes/scripts/azure-vm-launch.sh]
#       delete: [configs/examples/nodes/scripts/azure-vm-delete.sh]
#       exists: [configs/examples/nodes/scripts/azure-vm-exists.sh]
#       environment:
#         VM_RESOURCE_GROUP: rg_prodapps_01
#         VM_LOCATION: germanywestcentral
#         VM_IMAGE: /subscriptions/…/images/node-1.36.3
#         VM_SUBNET: /subscriptions/…/subnets/nodes
#         VM_JOIN: /etc/flotilla/join.yaml
#
# VM_JOIN is what cloud-init does on the first boot: it joins the cluster, under the name of the machine
# and with the taint karpenter.sh/unregistered:NoExecute. The machine is named after the launch, so that
# one that was asked for before is found again.
set -eu
: "${VM_RESOURCE_GROUP:?the resource group of the machines}" "${VM_LOCATION:?the region}"
: "${VM_IMAGE:?the image of the machines}" "${VM_SUBNET:?the id of their subnet}" "${VM_JOIN:?the cloud-init file by which they join}"

cat >/dev/null # the launch as JSON; the variables say all that is needed here
set -f

show() {
  az vm show --resource-group "$VM_RESOURCE_GROUP" --name "$FLOTILLA_LAUNCH" --query "$1" --output tsv </dev/null
}

found() {
  zone=$(show 'zones[0]')
  capacity=on-demand
  if [ "$(show priority)" = Spot ]; then capacity=spot; fi
  # The form of the label topology.kubernetes.io/zone on nodes of Azure is region-number.
  printf '{"node": "%s", "providerID": "azure://%s", "labels": {"node.kubernetes.io/instance-type": "%s", "topology.kubernetes.io/zone": "%s-%s", "karpenter.sh/capacity-type": "%s"}}\n' \
    "$FLOTILLA_LAUNCH" "$(show id)" "$(show hardwareProfile.vmSize)" "$VM_LOCATION" "$zone" "$capacity"
}

if show id >/dev/null 2>&1; then
  found
  exit
fi
why=$(mktemp)
trap 'rm -f "$why"' EXIT
for size in $FLOTILLA_INSTANCE_TYPES; do
  for capacity in ${FLOTILLA_CAPACITY_TYPES:-on-demand}; do
    priority="--priority Regular"
    if [ "$capacity" = spot ]; then priority="--priority Spot --eviction-policy Delete"; fi
    for zone in ${FLOTILLA_ZONES:-$VM_LOCATION-1}; do
      if az vm create --resource-group "$VM_RESOURCE_GROUP" --name "$FLOTILLA_LAUNCH" --location "$VM_LOCATION" --zone "${zone##*-}" \
        --size "$size" $priority --image "$VM_IMAGE" --subnet "$VM_SUBNET" --public-ip-address "" \
        --os-disk-delete-option Delete --nic-delete-option Delete \
        --custom-data "$VM_JOIN" --tags "flotilla-member=$FLOTILLA_MEMBER" "nodepool=$FLOTILLA_NODE_POOL" --output none </dev/null 2>"$why"; then
        found
        exit
      fi
      if ! grep -q -e SkuNotAvailable -e AllocationFailed -e QuotaExceeded -e OverconstrainedAllocationRequest "$why"; then
        cat "$why" >&2
        exit 75
      fi
    done
  done
done
cat "$why" >&2
echo "no machine of types $FLOTILLA_INSTANCE_TYPES is to be had" >&2
exit 1
