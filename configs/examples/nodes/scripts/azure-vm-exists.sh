#!/bin/sh
# Says whether there is a virtual machine for a node; azure-vm-launch.sh says how it is configured.
set -eu
: "${VM_RESOURCE_GROUP:?the resource group of the machines}"
cat >/dev/null # the machine as JSON
count=$(az vm list --resource-group "$VM_RESOURCE_GROUP" --query "length([?name=='${FLOTILLA_NODE:-$FLOTILLA_LAUNCH}'])" --output tsv </dev/null)
if [ "$count" = 0 ]; then echo false; else echo true; fi
