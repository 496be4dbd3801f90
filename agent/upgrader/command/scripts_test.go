package command

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

const scripts = "../../../configs/examples/upgrades/scripts"

// recorder is a stub that writes down how it was called, with its standard input when stdin is set, and
// answers as the cases say.
func recorder(stdin bool, cases string) string {
	text := "#!/bin/sh\n" + `printf '%s' "$(basename "$0")" >> "$CALLS"
for word in "$@"; do printf ' %s' "$word" >> "$CALLS"; done
echo >> "$CALLS"
`
	if stdin {
		text += "sed 's/^/    /' >> \"$CALLS\"\n"
	}
	return text + "case \"$*\" in\n" + cases + "esac\n"
}

// script runs one of the example scripts with stubs on its PATH and returns what became of it and what
// was called.
func script(t *testing.T, name string, stubs, environment map[string]string, op api.UpgradeOperation) (api.UpgradeResult, string) {
	t.Helper()
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	require.NoError(t, os.WriteFile(calls, nil, 0o600))
	for stub, text := range stubs {
		require.NoError(t, os.WriteFile(filepath.Join(dir, stub), []byte(text), 0o700)) //nolint:gosec // it is to be run
	}
	path, err := filepath.Abs(filepath.Join(scripts, name))
	require.NoError(t, err)
	d := driver(t, dir, func(o *Options) {
		o.Command, o.Inventory = []string{path}, []string{filepath.Join(filepath.Dir(path), "aks-inventory.sh")}
		o.Environment = map[string]string{"PATH": dir + ":" + os.Getenv("PATH"), "CALLS": calls}
		maps.Copy(o.Environment, environment)
	})
	result, known, err := d.Run(t.Context(), op, func(api.UpgradeResult) {})
	require.NoError(t, err)
	require.True(t, known)
	return result, string(content(t, dir, "calls"))
}

func wanted() api.UpgradeOperation {
	return api.UpgradeOperation{
		ID: "u1/berlin/1", Run: "r", Attempt: 1, Type: api.UpgradeFull, ControlPlaneVersion: "1.37.1",
		NodePools: []api.PoolUpgrade{{Pool: "np1", ToVersion: "1.37.1"}, {Pool: "np2", ToVersion: "1.37.1"}},
	}
}

// kubectl answers for two servers, of which the first is done, and one node in each of two pools.
func kubectl(version string) string {
	return recorder(false, `
*'-l node-role.kubernetes.io/control-plane '*) printf 's1\ns2\n' ;;
*'-l !node-role.kubernetes.io/control-plane,pool=np1 '*) printf 'n1\n' ;;
*'-l !node-role.kubernetes.io/control-plane,pool=np2 '*) printf 'n2\n' ;;
*'get node s1 '*) printf `+version+` ;;
*'get node '*) printf v1.36.3 ;;
`)
}

// acts are the calls that change something, in their order.
func acts(calls string) string {
	var out []string
	for line := range strings.Lines(calls) {
		if !strings.HasPrefix(line, "kubectl get") && !strings.HasPrefix(line, "kubectl wait") && !strings.HasPrefix(line, "az aks show") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func TestKubeadmScript(t *testing.T) {
	stubs := map[string]string{"kubectl": kubectl("v1.37.1"), "ssh": recorder(true, "")}
	result, calls := script(t, "kubeadm.sh", stubs, map[string]string{"POOL_LABEL": "pool"}, wanted())
	require.Equal(t, api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: "all nodes are done", Pools: []string{"np1", "np2"}}, result)
	node := func(name string) string {
		packages := func(names string) string {
			return "ssh -o BatchMode=yes " + name + ` sudo sh -eu
    sed -i 's|/v[0-9][0-9.]*/deb/|/v1.37/deb/|' /etc/apt/sources.list.d/kubernetes.list
    apt-get update -q
    apt-get install -q -y --allow-change-held-packages  ` + names + "\n"
		}
		return packages("kubeadm=1.37.1-*") +
			"ssh -o BatchMode=yes " + name + " sudo sh -eu\n    kubeadm upgrade node\n" +
			"kubectl drain " + name + " --ignore-daemonsets --delete-emptydir-data --timeout=30m\n" +
			packages("kubelet=1.37.1-* kubectl=1.37.1-*") +
			"ssh -o BatchMode=yes " + name + " sudo sh -eu\n    systemctl daemon-reload && systemctl restart kubelet\n" +
			"kubectl uncordon " + name + "\n"
	}
	require.Equal(t, node("s2")+node("n1")+node("n2"), acts(calls), "s1 is done already")

	stubs["kubectl"] = kubectl("v1.36.3")
	_, calls = script(t, "kubeadm.sh", stubs, map[string]string{"POOL_LABEL": "pool", "SSH": "ssh -l root"}, wanted())
	require.Contains(t, calls, "ssh -l root s1 sudo sh -eu\n    kubeadm upgrade apply -y v1.37.1\n")
	require.Equal(t, 1, strings.Count(calls, "upgrade apply"))
	require.Equal(t, 3, strings.Count(calls, "    kubeadm upgrade node\n"))
}

func TestK3sScript(t *testing.T) {
	stubs := map[string]string{"kubectl": kubectl("v1.37.1+k3s2"), "ssh": recorder(true, "")}
	result, calls := script(t, "k3s.sh", stubs, map[string]string{"POOL_LABEL": "pool", "K3S_SUFFIX": "+k3s2"}, wanted())
	require.Equal(t, api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: "all nodes are done", Pools: []string{"np1", "np2"}}, result)
	node := func(name, role string) string {
		return "kubectl drain " + name + " --ignore-daemonsets --delete-emptydir-data --timeout=30m\n" +
			"ssh -o BatchMode=yes " + name + " sudo sh -eu\n    INSTALL_K3S_VERSION=v1.37.1+k3s2 sh /usr/local/bin/k3s-install.sh " + role + "\n" +
			"kubectl uncordon " + name + "\n"
	}
	require.Equal(t, node("s2", "server")+node("n1", "agent")+node("n2", "agent"), acts(calls))
}

func TestScriptsOverSSHRefuseWhatTheyCannotDo(t *testing.T) {
	images := wanted()
	images.NodePools[1] = api.PoolUpgrade{Pool: "np2", To: "family-1.2.3"}
	down := recorder(false, "*readyz*) exit 1 ;;\n")
	broken := strings.Replace(kubectl("v1.36.3"), "case", `case "$*" in "drain n1 "*) echo "n1 does not drain" >&2; exit 1 ;; esac; case`, 1)
	for _, name := range []string{"kubeadm.sh", "k3s.sh"} {
		ssh := recorder(true, "")
		environment := map[string]string{"POOL_LABEL": "pool"}
		result, calls := script(t, name, map[string]string{"kubectl": kubectl("v1.36.3"), "ssh": ssh}, environment, images)
		require.Equal(t, api.OutcomeFailed, result.Outcome, name)
		require.Contains(t, result.Message, "exit code 2: pool np2:", name)
		require.Empty(t, acts(calls), name)
		result, calls = script(t, name, map[string]string{"kubectl": down, "ssh": ssh}, environment, wanted())
		require.Equal(t, api.OutcomeBlocked, result.Outcome, name)
		require.Empty(t, acts(calls), name)
		result, calls = script(t, name, map[string]string{"kubectl": broken, "ssh": ssh}, environment, wanted())
		require.Equal(t, api.OutcomeFailed, result.Outcome, name)
		require.Contains(t, result.Message, "n1 does not drain", name)
		require.NotContains(t, calls, "uncordon n1", name)
		require.NotContains(t, calls, "drain n2", name)
	}
}

func TestAKSScript(t *testing.T) {
	az := recorder(false, `
*provisioningState*) echo "${STATE:-Succeeded}" ;;
*nodeOsUpgradeChannel*) echo Unmanaged ;;
*currentKubernetesVersion*) echo 1.36.3 ;;
`)
	environment := map[string]string{"AKS_RESOURCE_GROUP": "rg"}
	op := wanted()
	op.NodePools[0].To, op.NodePools[1] = "family-1.2.3", api.PoolUpgrade{Pool: "np2", Newest: true}
	result, calls := script(t, "aks.sh", map[string]string{"az": az}, environment, op)
	require.Equal(t, api.UpgradeResult{Outcome: api.OutcomeSucceeded, Message: "berlin is done", Pools: []string{"np1", "np2"}}, result)
	require.Equal(t, `az aks upgrade --resource-group rg --name berlin --kubernetes-version 1.37.1 --control-plane-only --yes --output none
az aks nodepool upgrade --resource-group rg --cluster-name berlin --name np1 --yes --kubernetes-version 1.37.1 --output none
az aks nodepool upgrade --resource-group rg --cluster-name berlin --name np1 --yes --node-image-only --output none
az aks nodepool upgrade --resource-group rg --cluster-name berlin --name np2 --yes --node-image-only --output none
`, acts(calls))

	images := api.UpgradeOperation{
		ID: "u1/berlin/2", Run: "r", Type: api.UpgradeNodeImageOnly, DisableUnattendedUpgrades: true, NodePools: []api.PoolUpgrade{{Pool: "np1", Newest: true}},
	}
	environment["AKS_NAME"] = "aks1"
	result, calls = script(t, "aks.sh", map[string]string{"az": az}, environment, images)
	require.Equal(t, api.OutcomeSucceeded, result.Outcome, result.Message)
	require.Equal(t, `az aks update --resource-group rg --name aks1 --node-os-upgrade-channel None --output none
az aks nodepool upgrade --resource-group rg --cluster-name aks1 --name np1 --yes --node-image-only --output none
`, acts(calls))

	environment["STATE"] = "Upgrading"
	result, calls = script(t, "aks.sh", map[string]string{"az": az}, environment, op)
	require.Equal(t, api.OutcomeBlocked, result.Outcome)
	require.Contains(t, result.Message, "aks1 is Upgrading; nothing was changed")
	require.Empty(t, acts(calls))

	delete(environment, "AKS_RESOURCE_GROUP")
	result, _ = script(t, "aks.sh", map[string]string{"az": az}, environment, op)
	require.Contains(t, result.Message, "the resource group of the cluster")
}

func TestAKSInventoryScript(t *testing.T) {
	dir := t.TempDir()
	az := recorder(false, `*) echo '{"controlPlaneVersion": "1.36.3", "powerState": "Stopped", "currentOperation": "", "nodePools": [{"name": "np1", "osSku": null}]}' ;;
`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "az"), []byte(az), 0o700)) //nolint:gosec // it is to be run
	path, err := filepath.Abs(filepath.Join(scripts, "aks-inventory.sh"))
	require.NoError(t, err)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	d := driver(t, dir, func(o *Options) {
		o.Inventory = []string{path}
		o.Environment = map[string]string{"AKS_RESOURCE_GROUP": "rg", "CALLS": filepath.Join(dir, "calls")}
	})
	i, err := d.Inventory(t.Context())
	require.NoError(t, err)
	require.Equal(t, api.MemberInventory{ControlPlaneVersion: "1.36.3", PowerState: api.PowerStopped, NodePools: []api.NodePoolFacts{{Name: "np1"}}}, i)
	calls := string(content(t, dir, "calls"))
	require.Contains(t, calls, "az aks show --resource-group rg --name berlin --output json --query {")
	require.Contains(t, calls, "currentOrchestratorVersion")
}

// Every script is in the table of its README, and the README names every variable there is.
func TestReadmeOfTheScripts(t *testing.T) {
	readme := string(content(t, scripts, "README.md"))
	entries, err := os.ReadDir(scripts)
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sh") {
			require.Contains(t, readme, "| "+e.Name()+" |")
		}
	}
	op := wanted()
	for _, variable := range variables("berlin", &op) {
		name, _, _ := strings.Cut(variable, "=")
		require.Contains(t, readme, name)
	}
}
