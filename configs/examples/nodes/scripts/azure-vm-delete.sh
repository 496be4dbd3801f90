#!/bin/sh
# Deletes the virtual machine of a node; azure-vm-launch.sh says how it is configured. A machine that is
# not there is deleted, and so is one of a launch that never told its node.
set -eu
: "${VM_RESOURCE_GROUP:?the resource group of the machines}"
cat >/dev/null # the machine as JSON
name=${FLOTILLA_NODE:-$FLOTILLA_LAUNCH}
count=$(az vm list --resource-group "$VM_RESOURCE_GROUP" --query "length([?name=='$name'])" --output tsv </dev/null)
if [ "$count" = 0 ]; then exit; fi
az vm delete --resource-group "$VM_RESOURCE_GROUP" --name "$name" --yes --output none </dev/null
