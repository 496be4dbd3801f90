#!/bin/sh
# Prints the inventory of a member that is an AKS cluster; see aks.sh.
set -eu
: "${AKS_RESOURCE_GROUP:?the resource group of the cluster}"
exec az aks show --resource-group "$AKS_RESOURCE_GROUP" --name "${AKS_NAME:-$FLOTILLA_MEMBER}" --output json --query "{
  clusterResourceId: id,
  region: location,
  controlPlaneVersion: currentKubernetesVersion,
  powerState: powerState.code,
  longTermSupport: supportPlan == 'AKSLongTermSupport',
  currentOperation: provisioningState != 'Succeeded' && provisioningState != 'Failed' && provisioningState != 'Canceled' && provisioningState || '',
  nodePools: agentPoolProfiles[].{
    name: name, mode: mode, osType: osType, osSku: osSku, nodeImageVersion: nodeImageVersion,
    kubernetesVersion: currentOrchestratorVersion, fromSnapshot: creationData.sourceResourceId != null
  }
}"
