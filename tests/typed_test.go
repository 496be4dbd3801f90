package tests

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flotilla/subjects"
)

// untyped are the commands of documents that no test types as they stand, with what shows that they are true.
var untyped = map[string]string{
	"make demo     # eight members in memory, every example of configs/examples placed, explained, rolled out, broken and mended":                                                            "tests/demo runs it",
	"make demo-rollouts  # rollouts that are steered: an override per region, an undo, a staged run with an approval, a stage that goes back by itself, a drained member, a held withdrawal": "tests/demo runs it",
	"make test     # every test, on embedded servers":                     "would run itself",
	"flotilla apply -f web.yaml":                                          "opens a drawing; examples of docs/cli.md apply it",
	"make bench-e2e":                                                      "measures for six minutes beside real clusters, whose tests carry a build tag",
	"make bench-page":                                                     "measures for ten minutes in a browser, whose tests carry a build tag",
	"go run ./hub --dev":                                                  "the guides are typed beside what it starts, and tests/house starts it",
	"go run ./hub --kubernetes 127.0.0.1:6443":                            "goes on for ever; hub/hubd serves a Kubernetes API",
	"flotilla kubeconfig > fleet.kubeconfig":                              "writes to where the reader is; TestWeb prints it",
	"kubectl --kubeconfig fleet.kubeconfig get clusterresourceplacements": "needs kubectl; TestAKubeconfigIsRead reads the file as it does",
	"go run ./hub --page 127.0.0.1:8480":                                  "goes on for ever; hub/hubd serves a page",
	"flotilla web":                                                        "the hubs of guides serve none; tests/cli types it",
	"make build && export PATH=$PWD/bin:$PATH":                            "the guides are typed with the program that it builds",
	"go run ./hub --data /var/lib/flotilla":                               "a folder of the machine; hub/hubd starts it in another",
	"go run ./hub --data /var/lib/flotilla                     # the hub, with its own NATS server, on loopback":                                     "a folder of the machine; hub/hubd starts it in another",
	"flotilla member enrol berlin > berlin.token               # what one agent enrols with, once":                                                   "an example of docs/cli.md is the same",
	"flotilla member enrol berlin > berlin.token     # by an admin, for one agent":                                                                   "an example of docs/cli.md is the same",
	"go run ./agent --token @berlin.token                      # beside the member: with --kubeconfig FILE a Kubernetes cluster, else one in memory": "goes on for ever; tests/house starts one",
	"agent --token @berlin.token --label region=eu   # beside the member; --token - takes it from standard input":                                    "goes on for ever; tests/house starts one",
	"flotilla secrets create secrets.json": "an example of docs/cli.md is the same",
	"flotilla secrets rotate secrets.json    # and give it to every hub, which is started anew, the one that leads last": "an example of docs/cli.md is the same",
	"flotilla status                         # says Resealing while everything is sealed anew":                           "tests/cli types it",
	"flotilla secrets prune secrets.json     # takes the former secrets out, and refuses while they are needed":          "an example of docs/cli.md is the same",
	"flotilla member admit berlin                              # Joining until somebody says so":                         "tests/cli admits members",
	"flotilla member admit berlin                    # or apply a MemberCluster called berlin":                           "tests/cli admits members",
	"export NATS_CREDS=/var/lib/flotilla/inspector.creds":                                                                "sets a variable for the lines of nats below it",
	"hub accounts --out accounts": "hub types it into a folder of its own",
	"hub accounts leaf edge --accounts accounts --url nats://n1:7422 --member oslo --out edge":                                                        "hub types it into folders of its own",
	"nats-server -c single.conf      # configs/nats/single.conf and server.conf, beside them accounts/accounts.conf":                                  "goes on for ever; tests/brokers starts it",
	"hub --url nats://n1:4222 --accounts accounts --secrets secrets.json":                                                                             "goes on for ever; tests/brokers starts it",
	"NATS_URL=nats://a:4222,nats://b:4222 NATS_CREDS=hub.creds go run ./hub --secrets secrets.json":                                                   "hosts of other machines; tests/house runs hubs on one broker",
	"go run ./hub --context prod --secrets secrets.json   # a context of the nats command line":                                                       "a context of a person; configs/terminal reads one",
	"FLOTILLA_CLOCK_AHEAD=48h go run ./hub --dev":                                                                                                     "goes on for ever; configs/terminal reads the variable",
	"FLOTILLA_CLOCK_AHEAD=48h go run ./hub/flotilla windows berlin":                                                                                   "configs/terminal reads the variable",
	"hub --data /var/lib/flotilla --host 0.0.0.0 --tls-self-signed --tls-name hub.example.com":                                                        "goes on for ever; bus starts such a server",
	"make images                                                     # flotilla-agent and flotilla-hub, with docker or DOCKER=podman":                 "needs docker",
	"make images                                                     # needs docker, or podman with DOCKER=podman":                                    "needs docker",
	"kind load docker-image flotilla-agent --name berlin             # elsewhere: push it to a registry of yours, and name it with --image":           "needs docker",
	"kind load docker-image flotilla-agent --name berlin":                                                                                             "needs docker",
	"flotilla member manifest berlin --agent-url nats://hub.example.com:4222 > berlin.yaml":                                                           "an example of docs/cli.md is the same; tests/e2e types it for a cluster",
	"kubectl --context kind-berlin apply -f berlin.yaml":                                                                                              "a cluster of kind; tests/e2e types it for another",
	"flotilla member admit berlin                                    # once its agent is heard: flotilla get members":                                 "tests/cli admits members",
	"docker save flotilla-agent -o flotilla-agent.tar":                                                                                                "needs docker",
	"k3s ctr images import flotilla-agent.tar":                                                                                                        "needs a machine that runs k3s",
	"flotilla member manifest oslo --agent-url nats://hub.example.com:4222 --toleration node-role.kubernetes.io/control-plane:NoSchedule > oslo.yaml": "an example of docs/cli.md",
	"k3s kubectl apply -f oslo.yaml":              "needs a machine that runs k3s; tests/e2e types it for another cluster",
	"flotilla member admit berlin":                "tests/cli admits members",
	"flotilla member enrol berlin > berlin.token": "an example of docs/cli.md is the same",
	"flotilla member enrol berlin > token":        "an example of docs/cli.md is the same",
	"helm install flotilla-agent configs/kubernetes/agent --namespace flotilla-system --create-namespace --set-file token=berlin.token":                                                                              "needs helm; configs/kubernetes renders the chart, tests/e2e has it taken by an API server",
	"helm install flotilla-management configs/kubernetes/management --namespace fleet":                                                                                                                               "needs helm; configs/kubernetes renders the chart, tests/e2e has it taken by an API server",
	"helm install flotilla-management configs/kubernetes/management --namespace fleet --set agentNamespace=flotilla-system":                                                                                          "needs helm; configs/kubernetes renders the chart, tests/e2e has it taken by an API server",
	"kubectl apply -k configs/kubernetes/kustomize/agent":                                                                                                                                                            "tests/e2e types it as a dry run",
	"kubectl create secret generic flotilla-agent-token --namespace flotilla-system --from-file token":                                                                                                               "needs a cluster; tests/e2e has such a Secret made by the manifest",
	"flotilla member leave berlin --when-leaving Delete":                                                                                                                                                             "an example of docs/cli.md is the same; tests/e2e types it for a cluster",
	"kubectl --context kind-berlin delete -f berlin.yaml":                                                                                                                                                            "a cluster of kind; tests/e2e types it for another",
	"helm install flotilla-hub configs/kubernetes/hub --namespace flotilla-system --create-namespace --set service.type=LoadBalancer --set 'tls.names={hub.example.com}'":                                            "needs helm; configs/kubernetes renders the chart, tests/e2e has it taken by an API server",
	"kubectl exec -n flotilla-system flotilla-hub-0 -- /flotilla --url nats://127.0.0.1:4222 --creds /var/lib/flotilla/operator.creds --tls-ca /var/lib/flotilla/tls/ca.pem user add anna --role admin > anna.creds": "needs a cluster whose nodes run images",
	"kubectl create secret generic flotilla-hub --namespace flotilla-system --from-file accounts --from-file secrets.json":                                                                                           "needs a cluster",
	"kubectl create secret tls flotilla-page --namespace flotilla-system --cert fleet.crt --key fleet.key":                                                                                                           "needs a cluster",
	"helm upgrade flotilla-hub configs/kubernetes/hub --namespace flotilla-system --reset-then-reuse-values --set page.enabled=true --set page.url=https://fleet.example.com":                                        "needs helm; configs/kubernetes renders the chart, tests/e2e has it taken by an API server",
	"helm install flotilla-hub configs/kubernetes/hub --namespace flotilla-system --set natsURL=nats://n1:4222":                                                                                                      "needs helm; configs/kubernetes renders the chart, tests/e2e has it taken by an API server",
}

// grown are the lines that tests/brokers types.
func grown(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "\n## From one process to three hubs on three servers\n")
	require.True(t, found)
	rest, _, _ = strings.Cut(rest, "\n## ")
	var lines []string
	for _, block := range blocks.FindAllStringSubmatch(rest, -1) {
		for line := range strings.Lines(block[1]) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// programs are what a line that is typed begins with, behind the variables that it sets.
var programs = regexp.MustCompile(`^\s*([A-Z_]+=\S+ )*(flotilla|hub|agent|go|make|docker|kind|k3s|helm|kubectl|kustomize|nats|nats-server|nsc|sed|cat|echo|export|cp|curl|\./\S+|bin/\S+) `)

// blocks are what stands between lines of three ticks.
var blocks = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```")

// TestEveryCommandOfTheDocumentsIsTyped finds each line of a block of the documents that a reader types among those
// that a test types: in a guide, as an example of the reference, or beside files. What no test can type is listed
// with the reason, and nothing else is.
func TestEveryCommandOfTheDocumentsIsTyped(t *testing.T) {
	typed := map[string]bool{}
	for _, g := range guides {
		for _, line := range g.typed(t) {
			typed[line] = true
		}
	}
	for _, line := range append(fromFiles(t), grown(t)...) {
		typed[line] = true
	}
	listed := maps.Clone(untyped)
	found := 0
	for path, text := range writings(t) {
		for _, block := range blocks.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(block[1]) {
				if line = strings.TrimSpace(line); !programs.MatchString(line) {
					continue
				}
				found++
				switch {
				case strings.HasPrefix(line, "nats "):
					requireNames(t, line)
					continue
				case strings.HasPrefix(line, "go test "):
					continue // TestBenchmarksOfTheDocumentsAreThere
				}
				assert.True(t, typed[line] || listed[line] != "" || untyped[line] != "", "%s: no test types this, and untyped does not say why not: %s", path, line)
				assert.False(t, typed[line] && untyped[line] != "", "typed after all: %s", line)
				delete(listed, line)
			}
		}
	}
	require.Greater(t, found, 60)
	require.Empty(t, slices.Sorted(maps.Keys(listed)), "in no document any more")
}

// named is a bucket, stream, subject or service of Flotilla in a line.
var named = regexp.MustCompile(`(?i)\bflotilla[-_.][a-z_.-]+[a-z]`)

// requireNames finds what a line of the nats command line names among what a hub makes.
func requireNames(t *testing.T, line string) {
	t.Helper()
	fleet := subjects.Fleet{Name: "default"}
	known := []string{
		"flotilla-hub", fleet.Bucket(subjects.State), fleet.Bucket(subjects.Heartbeat), fleet.Stream(subjects.Commands), fleet.Stream(subjects.Audit), fleet.Stream(subjects.Acts),
		fleet.Command("berlin", "placement"), fleet.Prefix() + ".hint",
	}
	found := named.FindAllString(line, -1)
	require.NotEmpty(t, found, line)
	for _, name := range found {
		require.Contains(t, known, name, line)
	}
}

// measured is a command that measures: what it runs, and in which packages.
var measured = regexp.MustCompile("go test (?:-\\S+ |'\\^\\$' )*?-(bench|run) '?([A-Za-z|]+)'?[^`\n]*?((?: \\./[a-z/]+)+)")

// TestBenchmarksOfTheDocumentsAreThere finds the benchmarks and tests that documents measure with.
func TestBenchmarksOfTheDocumentsAreThere(t *testing.T) {
	text, err := os.ReadFile("../docs/benchmarks.md")
	require.NoError(t, err)
	commands := measured.FindAllStringSubmatch(string(text), -1)
	require.Len(t, commands, strings.Count(string(text), "go test "))
	for _, c := range commands {
		sources := ""
		for folder := range strings.FieldsSeq(c[3]) {
			paths, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
			require.NoError(t, err)
			require.NotEmpty(t, paths, folder)
			for _, path := range paths {
				source, err := os.ReadFile(path)
				require.NoError(t, err)
				sources += string(source)
			}
		}
		begin := map[string]string{"bench": "Benchmark", "run": "Test"}[c[1]]
		for name := range strings.SplitSeq(c[2], "|") {
			require.Regexp(t, `func `+begin+`\w*`+strings.TrimPrefix(name, begin), sources, c[0])
		}
	}
}

// writings are the documents, but for what docs/cli.md generates, whose examples are typed by
// TestExamplesOfTheReference.
func writings(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../configs/examples/*.md", "../configs/examples/*/scripts/*.md", "../subjects/*.md"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			texts[path], _, _ = strings.Cut(string(text), "<!-- From here on generated")
		}
	}
	return texts
}
