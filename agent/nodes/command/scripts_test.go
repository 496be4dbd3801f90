package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

const scripts = "../../../configs/examples/nodes/scripts"

// azure is the provider by the example scripts, with a stub in place of the Azure CLI, which answers as
// the cases say and writes down how it was called.
func azure(t *testing.T, cases string) *Provider {
	t.Helper()
	dir := t.TempDir()
	stub := "#!/bin/sh\nprintf '%s ' az \"$@\" >> \"$CALLS\"; echo >> \"$CALLS\"\ncase \"$*\" in\n" + cases + "\nesac\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "az"), []byte(stub), 0o700)) //nolint:gosec // it is to be run
	command := func(name string) []string {
		path, err := filepath.Abs(filepath.Join(scripts, name))
		require.NoError(t, err)
		return []string{path}
	}
	p, err := New(Options{
		Member: "berlin", Directory: dir, Timeout: time.Minute,
		Launch: command("azure-vm-launch.sh"), Delete: command("azure-vm-delete.sh"), Exists: command("azure-vm-exists.sh"),
		Environment: map[string]string{
			"PATH": dir + ":" + os.Getenv("PATH"), "CALLS": filepath.Join(dir, "calls"), "VM_RESOURCE_GROUP": "rg", "VM_LOCATION": "weu",
			"VM_IMAGE": "image", "VM_SUBNET": "subnet", "VM_JOIN": "join.yaml",
		},
	})
	require.NoError(t, err)
	return p
}

// shown is what the CLI shows of a machine.
const shown = `*"vm show"*zones*) echo 2 ;;
*"vm show"*priority*) echo Spot ;;
*"vm show"*vmSize*) echo d8 ;;
*"vm show"*"--query id"*) echo /subscriptions/s/vm ;;
`

func spot() api.NodeLaunch {
	l := wanted()
	l.Requirements = []api.NodeRequirement{
		{Key: "topology.kubernetes.io/zone", Operator: "In", Values: []string{"weu-1", "weu-2"}}, {Key: api.LabelCapacityType, Operator: "In", Values: []string{"spot"}},
	}
	return l
}

// created are the sizes, priorities and zones that were tried.
func created(t *testing.T, p *Provider) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(p.read(t, "calls")) {
		if _, after, ok := strings.Cut(line, "--zone "); ok && strings.Contains(line, "vm create") {
			tried, _, _ := strings.Cut(after, " --image")
			out = append(out, tried)
		}
	}
	return out
}

func TestAzureLaunches(t *testing.T) {
	full := `
"vm create "*"--size d4"*) echo "(SkuNotAvailable) not here" >&2; exit 1 ;;
"vm create "*"--zone 1"*) echo "(AllocationFailed) full" >&2; exit 1 ;;
"vm create "*) touch made ;;
"vm show"*) test -e made || exit 3; case "$*" in
` + shown + `esac ;;`
	p := azure(t, full)
	out, err := p.Launch(t.Context(), spot())
	require.NoError(t, err)
	want := api.LaunchedNode{Node: "d1-0", ProviderID: "azure:///subscriptions/s/vm", Labels: map[string]string{
		"node.kubernetes.io/instance-type": "d8", "topology.kubernetes.io/zone": "weu-2", api.LabelCapacityType: "spot",
	}}
	require.Equal(t, want, out)
	const spotty = " --priority Spot --eviction-policy Delete"
	tried := []string{"1 --size d4" + spotty, "2 --size d4" + spotty, "1 --size d8" + spotty, "2 --size d8" + spotty}
	require.Equal(t, tried, created(t, p))
	require.Contains(t, p.read(t, "calls"), "--resource-group rg --name d1-0 --location weu --zone 2 --size d8")
	require.Contains(t, p.read(t, "calls"), "--image image --subnet subnet --public-ip-address  --os-disk-delete-option Delete --nic-delete-option Delete --custom-data join.yaml --tags flotilla-member=berlin nodepool=general ")

	again, err := p.Launch(t.Context(), spot())
	require.NoError(t, err)
	require.Equal(t, want, again)
	require.Equal(t, tried, created(t, p), "what was launched is found again")
}

func TestAzureLaunchesNothing(t *testing.T) {
	p := azure(t, `"vm create "*) echo "(QuotaExceeded) no cores left" >&2; exit 1 ;;
*) exit 3 ;;`)
	out, err := p.Launch(t.Context(), wanted())
	require.NoError(t, err)
	require.Contains(t, out.Failed, "ended with exit code 1: (QuotaExceeded) no cores left | no machine of types d4 d8 is to be had")
	require.Len(t, created(t, p), 4)

	p = azure(t, `"vm create "*) echo "please run az login" >&2; exit 1 ;;
*) exit 3 ;;`)
	_, err = p.Launch(t.Context(), wanted())
	require.ErrorContains(t, err, "asks to try again later: please run az login")
}

func TestAzureDeletes(t *testing.T) {
	p := azure(t, `"vm list "*) if test -e gone; then echo 0; else echo 1; fi ;;
"vm delete "*) touch gone ;;`)
	m := api.NodeMachine{Launch: "d1-0"}
	gone, err := p.Gone(t.Context(), m)
	require.NoError(t, err)
	require.False(t, gone)
	for range 2 {
		gone, err = p.Delete(t.Context(), m)
		require.NoError(t, err)
		require.True(t, gone)
	}
	require.Equal(t, 1, strings.Count(p.read(t, "calls"), "vm delete --resource-group rg --name d1-0 --yes"), "what is gone is not deleted again")
}

// Every script is in the table of its README, and the README names every variable there is.
func TestReadmeOfTheScripts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(scripts, "README.md"))
	require.NoError(t, err)
	entries, err := os.ReadDir(scripts)
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sh") {
			require.Contains(t, string(text), "| "+e.Name()+" |")
		}
	}
	p := provider(t, "env | grep -o 'FLOTILLA_[A-Z_]*' | sort -u > names; echo n1", "env | grep -o 'FLOTILLA_[A-Z_]*' | sort -u >> names", "")
	_, err = p.Launch(t.Context(), wanted())
	require.NoError(t, err)
	_, err = p.Delete(t.Context(), api.NodeMachine{})
	require.NoError(t, err)
	for name := range strings.FieldsSeq(p.read(t, "names")) {
		require.Contains(t, string(text), name)
	}
}
