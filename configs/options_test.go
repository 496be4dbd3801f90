package configs

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"flotilla/core/api"
	"flotilla/core/strict"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

func TestSampleOfTheHubIsItsDefaults(t *testing.T) {
	h, err := LoadHub("hub.yaml", read(t, "hub.yaml"))
	require.NoError(t, err)
	want := DefaultHub()
	want.SkippedNamespaces, want.Notifications = []string{}, []Notification{}
	want.Listen.TLS.Names, want.Page.Hosts, want.Kubernetes.Hosts = []string{}, []string{}, []string{}
	want.Checks = Checks{Prometheus: []CheckEndpoint{}, Webhooks: []CheckEndpoint{}, Commands: []CheckCommand{}}
	require.Equal(t, want, h)
	requireEverySetting(t, string(sampleWithNotifications(t)), reflect.TypeFor[Hub]())
}

func TestSampleOfTheAgentIsItsDefaultsAndExamples(t *testing.T) {
	a, err := LoadAgent("agent.yaml", read(t, "agent.yaml"))
	require.NoError(t, err)
	want := DefaultAgent()
	want.Member = "berlin"
	want.Labels = map[string]string{"region": "east"}
	want.Properties = map[string]string{"example.com/racks": "12"}
	want.Cost = Cost{PerCPUCore: "0.029", PerGBMemory: "0.007"}
	want.Target.Memory.Faults = []string{}
	want.Target.Memory.Nodes = []Nodes{{
		Name: "berlin", Count: 3, InstanceType: "Standard_D4s_v5", Zone: "east-1", CPU: "4", Memory: "16Gi", PricePerHour: "0.23",
		Pool: NodePool{
			Name: "np1", Mode: "System", OSType: "Linux", OSSKU: "Ubuntu", Image: "AKSUbuntu-2204gen2containerd-202401.09.0", KubernetesVersion: "v1.36.3",
		},
		NodePool: "default", CapacityType: "on-demand", Labels: map[string]string{"example.com/rack": "r1"},
		Annotations: map[string]string{"karpenter.sh/do-not-disrupt": "false"},
		Taints:      []api.NodeTaint{{Key: "example.com/dedicated", Value: "batch", Effect: "PreferNoSchedule"}},
	}}
	want.Maintenance = &api.MaintenanceConfiguration{AutoUpgrade: &api.MaintenanceWindow{
		Schedule: api.MaintenanceSchedule{Weekly: &api.WeeklySchedule{IntervalWeeks: 1, DayOfWeek: "Saturday"}}, DurationHours: 4, StartTime: "02:00", UTCOffset: "+01:00",
	}}
	want.Observe.Exec.Command, want.Observe.Exec.Environment = []string{}, map[string]string{}
	want.Upgrade.Exec.Command, want.Upgrade.Exec.Inventory, want.Upgrade.Exec.Environment = []string{}, []string{}, map[string]string{}
	exec := &want.Nodes.Exec
	exec.Launch, exec.Delete, exec.Exists, exec.Environment = []string{}, []string{}, []string{}, map[string]string{}
	require.Equal(t, want, a)
	requireEverySetting(t, string(read(t, "agent.yaml")), reflect.TypeFor[Agent]())
}

// requireEverySetting checks that a sample names every field of the options.
func requireEverySetting(t *testing.T, sample string, of reflect.Type) {
	t.Helper()
	var root yaml.Node
	require.NoError(t, yaml.Unmarshal([]byte(sample), &root))
	var visit func(at string, of reflect.Type, samples ...*yaml.Node)
	visit = func(at string, of reflect.Type, samples ...*yaml.Node) {
		if of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Struct {
			of, samples = of.Elem(), samples[0].Content
			require.NotEmpty(t, samples, at)
		}
		if of.Kind() == reflect.Pointer && of.Elem().PkgPath() == reflect.TypeFor[Hub]().PkgPath() {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			require.NotEmpty(t, name, f.Name)
			var values []*yaml.Node
			for _, n := range samples {
				for j := 0; j+1 < len(n.Content); j += 2 {
					if n.Content[j].Value == name {
						values = append(values, n.Content[j+1])
					}
				}
			}
			require.NotEmpty(t, values, "the sample does not name %s.%s", at, name)
			visit(at+"."+name, f.Type, values...)
		}
	}
	visit("", of, root.Content[0])
}

func TestNothingIsADefaultHub(t *testing.T) {
	h, err := LoadHub("hub.yaml", []byte("# nothing\n"))
	require.NoError(t, err)
	require.Equal(t, DefaultHub(), h)
	require.False(t, h.External(env(nil)))
	require.True(t, h.External(env(map[string]string{"NATS_URL": "nats://a:4222"})))
	require.True(t, h.External(env(map[string]string{"NATS_CONTEXT": "prod"})))
	require.False(t, h.External(env(map[string]string{"NATS_CREDS": "hub.creds"})), "credentials alone name no servers")
	h.Dev = true
	require.False(t, h.External(env(map[string]string{"NATS_URL": "nats://a:4222"})), "a development hub ignores the environment")
	h, err = LoadHub("hub.yaml", []byte("bus: {context: prod}\nmanageStreams: false\nmemberTimeout: 90s\n"))
	require.NoError(t, err)
	require.True(t, h.External(env(nil)))
	require.False(t, h.ManageStreams)
	require.Equal(t, Duration(90*time.Second), h.MemberTimeout)
}

// A member that is Unknown between any two heartbeats cannot be meant; one that is so with usual agents may be.
func TestAMemberMayBeSilentForTwoHeartbeats(t *testing.T) {
	_, err := LoadHub("hub.yaml", []byte("memberTimeout: 1500ms\n"))
	requireFaults(t, err, []string{
		`hub.yaml: memberTimeout: found "1.5s", expected a duration from 2s, two heartbeats of an agent that reports as often as it can, to 24h0m0s`,
	})
	for timeout, noted := range map[string]bool{"2s": true, "29s": true, "30s": false, "5m": false} {
		h, err := LoadHub("hub.yaml", []byte("memberTimeout: "+timeout+"\n"))
		require.NoError(t, err, timeout)
		require.Equal(t, noted, len(h.Notes()) > 0, timeout)
	}
	h := DefaultHub()
	h.MemberTimeout = Duration(20 * time.Second)
	require.Equal(t, []string{"memberTimeout: found 20s, less than two heartbeats of agents that report every 15s, as they do by default: " +
		"their members are Unknown again and again; give the hub a --member-timeout of 30s or more, or every agent a --heartbeat-interval of 10s or less"}, h.Notes())
}

func env(held map[string]string) func(string) string {
	return func(name string) string { return held[name] }
}

func TestHubReportsEveryFault(t *testing.T) {
	_, err := LoadHub("hub.yaml", []byte(`
fleet: My_Fleet
dataDirectory: /x
listen: {host: "", port: 70000}
durability: sometimes
memberTimeout: 5
deletionTimeout: 0s
dev: "true"
metricsAddress: localhost
page: {address: localhost, url: "https://fleet.example.com/there", hosts: [ok.example.com, "a b", "a.example.com/"], tls: {cert: a.pem}, port: 1}
kubernetes: {address: "127.0.0.1", url: "http://fleet.example.com", hosts: [":1"], tls: {key: a.pem, ca: b.pem}}
log: {level: loud}
skippedNamespaces: [ok, Not_Ok]
disruption: {validationWait: 0s, interval: 1h, spots: true}
`))
	requireFaults(t, err, []string{
		`hub.yaml: dataDirectory: found an unknown field, expected one of fleet, dataDir,`,
		`hub.yaml: memberTimeout: found number 5, expected a duration, like "15s" or "5m"`,
		`hub.yaml: dev: found "true", expected true or false, without quotes`,
		`hub.yaml: page.port: found an unknown field, expected one of address, url,`,
		`hub.yaml: disruption.spots: found an unknown field, expected one of enabled, validationWait,`,
		`hub.yaml: fleet: found "My_Fleet", expected lower-case letters`,
		`hub.yaml: listen.host: found nothing, expected an address`,
		`hub.yaml: listen.port: found 70000, expected a number from 0 to 65535`,
		`hub.yaml: durability: found "sometimes", expected one of interval, always`,
		`hub.yaml: deletionTimeout: found "0s", expected a duration from 1s to 24h0m0s`,
		`hub.yaml: metricsAddress: found "localhost", expected a host and a port`,
		`hub.yaml: page.address: found "localhost", expected a host and a port`,
		`hub.yaml: page.url: found "https://fleet.example.com/there", expected a URL of http or https without a path`,
		`hub.yaml: page.hosts[1]: found "a b", expected the name of a host without a port`,
		`hub.yaml: page.hosts[2]: found "a.example.com/", expected`,
		`hub.yaml: page.tls: found one of cert and key, expected both, or none`,
		`hub.yaml: kubernetes.address: found "127.0.0.1", expected a host and a port`,
		`hub.yaml: kubernetes.url: found "http://fleet.example.com", expected a URL of https without a path`,
		`hub.yaml: kubernetes.hosts[0]: found ":1", expected the name of a host without a port`,
		`hub.yaml: kubernetes.tls: found one of cert and key, expected both, or none`,
		`hub.yaml: kubernetes.tls.ca: found no cert beside it, expected the certificate that it signed, or no ca`,
		`hub.yaml: log.level: found "loud", expected one of trace, debug, info, warn, error`,
		`hub.yaml: skippedNamespaces[1]: found "Not_Ok", expected lower-case letters`,
		`hub.yaml: disruption.validationWait: found "0s", expected a duration from 1ms to 10m0s`,
		`hub.yaml: disruption.interval: found "1h0m0s", expected a duration from 10ms to 10m0s`,
	})
}

func TestAddressesAndPorts(t *testing.T) {
	for address, ok := range map[string]bool{
		"": true, ":9090": true, "127.0.0.1:0": true, "[::1]:65535": true, "localhost:http": false, "localhost": false, "::1:80": false,
		"localhost:65536": false, "localhost:-1": false,
	} {
		h := DefaultHub()
		h.MetricsAddress = address
		require.Equal(t, ok, len(h.Validate()) == 0, address)
	}
	for port, ok := range map[int]bool{0: true, 65535: true, 65536: false, -1: false} {
		h := DefaultHub()
		h.Listen.Port = port
		require.Equal(t, ok, len(h.Validate()) == 0, port)
	}
}

func TestAgentReportsEveryFault(t *testing.T) {
	_, err := LoadAgent("agent.yaml", []byte(`
member: Berlin
label: {a: b}
labels: {"a b": c, tier: 1}
location: "north europe"
properties: {"resources.kubernetes-fleet.io/cpu": "1"}
cost: {perCPUCore: cheap}
dataDir: ""
heartbeatInterval: 0.5s
target:
  type: kube
  memory:
    readyAfter: -1s
    nodes:
    - {name: a, cpu: 4, memory: 16Gb}
    - {name: a, count: 2, cpu: "4"}
    - {name: a-1, cpu: "4", memory: 1Gi, pricePerHour: "-1"}
    - {name: "", count: -3, cpu: "4", memory: 1Gi}
    - {name: m, cpu: "4", memory: 1Gi, nodePool: "no pool", capacityType: cheap, labels: {"a b": c}, taints: [{key: "", effect: Sometimes}]}
clusterAPI: {context: fleet, namespace: "no space", cluster: Berlin}
nodes:
  interval: 1ms
  resync: 2h
  leastDrain: 0s
  provider: exec
  memory: {launchTime: -1s}
  exec: {delete: [""], environment: {FLOTILLA_X: "1"}, timeout: 0s}
`))
	requireFaults(t, err, []string{
		`agent.yaml: label: found an unknown field, expected one of`,
		`agent.yaml: labels.tier: found number 1, expected a string, "1"`,
		`agent.yaml: target.memory.nodes[0].cpu: found number 4, expected a string, "4"`,
		`agent.yaml: target.memory.nodes[1].memory: found nothing, expected a string`,
		`agent.yaml: member: found "Berlin", expected lower-case letters`,
		`agent.yaml: labels["a b"]: found "a b", expected a name of at most 63`,
		`agent.yaml: location: found "north europe", expected at most 63 letters`,
		`agent.yaml: properties["resources.kubernetes-fleet.io/cpu"]: found "resources.kubernetes-fleet.io/cpu", expected resources.kubernetes-fleet.io/<total|allocatable|available>-<resource>`,
		`agent.yaml: dataDir: found nothing, expected a folder`,
		`agent.yaml: cost.perCPUCore: found "cheap", expected dollars per hour`,
		`agent.yaml: heartbeatInterval: found "500ms", expected a duration from 1s to 10m0s`,
		`agent.yaml: target.type: found "kube", expected one of memory`,
		`agent.yaml: target.memory.readyAfter: found "-1s", expected a duration from 0s to 1h0m0s`,
		`agent.yaml: target.memory.nodes[0].memory: found "16Gb", expected a quantity, like "16Gi"`,
		`agent.yaml: target.memory.nodes[2].pricePerHour: found "-1", expected dollars per hour`,
		`agent.yaml: target.memory.nodes[2].name: found "a-1" again, expected each node once`,
		`agent.yaml: target.memory.nodes[3].name: found nothing, expected a name`,
		`agent.yaml: target.memory.nodes[3].count: found -3, expected a number from 1 to 10000`,
		`agent.yaml: target.memory.nodes[4].nodePool: found "no pool", expected at most 63 letters`,
		`agent.yaml: target.memory.nodes[4].capacityType: found "cheap", expected one of on-demand, spot, reserved`,
		`agent.yaml: target.memory.nodes[4].labels["a b"]: found "a b", expected a name of at most 63`,
		`agent.yaml: target.memory.nodes[4].taints[0].key: found nothing, expected the key of a taint`,
		`agent.yaml: target.memory.nodes[4].taints[0].effect: found "Sometimes", expected one of NoSchedule, PreferNoSchedule, NoExecute`,
		`agent.yaml: clusterAPI.context: found "fleet", expected nothing, because there is no kubeconfig`,
		`agent.yaml: clusterAPI.namespace: found "no space", expected lower-case letters`,
		`agent.yaml: clusterAPI.cluster: found "Berlin", expected lower-case letters`,
		`agent.yaml: nodes.interval: found "1ms", expected a duration from 10ms to 10m0s`,
		`agent.yaml: nodes.resync: found "2h0m0s", expected a duration from 1s to 1h0m0s`,
		`agent.yaml: nodes.leastDrain: found "0s", expected a duration from 1ms to 1h0m0s`,
		`agent.yaml: nodes.memory.launchTime: found "-1s", expected a duration from 0s to 1h0m0s`,
		`agent.yaml: nodes.exec.launch: found nothing, expected a command and its arguments, because nodes.provider is exec`,
		`agent.yaml: nodes.exec.delete[0]: found nothing, expected the path or the name of a program`,
		`agent.yaml: nodes.exec.environment["FLOTILLA_X"]: found "FLOTILLA_X", expected a name that does not begin with FLOTILLA_`,
		`agent.yaml: nodes.exec.timeout: found "0s", expected a duration from 1s to 24h0m0s`,
	})
}

func requireFaults(t *testing.T, err error, want []string) {
	t.Helper()
	var faults strict.Faults
	require.ErrorAs(t, err, &faults)
	var got []string
	for i := range faults {
		require.Positive(t, faults[i].Line, "%s", faults[i].String())
		require.Positive(t, faults[i].Column, "%s", faults[i].String())
		faults[i].Line, faults[i].Column = 0, 0 // see positions_test.go
		got = append(got, faults[i].String())
	}
	require.Len(t, got, len(want), "%s", strings.Join(got, "\n"))
	for i := range want {
		require.Contains(t, got[i], want[i])
	}
}

func TestConfigurationIsOneDocumentOfYAML(t *testing.T) {
	_, err := LoadHub("hub.yaml", []byte("fleet: a\n---\nfleet: b\n"))
	require.EqualError(t, err, "hub.yaml:3:1: found a second document, expected one, in a configuration file")
	_, err = LoadAgent("agent.yaml", []byte("member: a\nmember: b\n"))
	require.EqualError(t, err, `agent.yaml:2:1: member: found the key a second time, first on line 1, expected each key once`)
}

func TestAutomaticLabelsAndProperties(t *testing.T) {
	a := DefaultAgent()
	a.Labels = map[string]string{"region": "east", api.LabelLocation: "own"}
	a.Location, a.ResourceGroup = "westus", "rg"
	a.Cost.PerCPUCore = "0.1"
	require.Equal(t, map[string]string{"region": "east", api.LabelLocation: "own", api.LabelResourceGroup: "rg"}, a.AllLabels())
	require.Equal(t, map[string]string{api.PropertyCPUCost: "0.1"}, a.AllProperties())
	require.Equal(t, map[string]string{"region": "east", api.LabelLocation: "own"}, a.Labels)
}

func TestNodes(t *testing.T) {
	n := Nodes{Name: "a", Count: 2, PricePerHour: "0.5"}
	require.Equal(t, []string{"a-1", "a-2"}, n.Names())
	require.InDelta(t, 0.5, n.Price(), 1e-9)
	require.Equal(t, []string{"b"}, (&Nodes{Name: "b"}).Names())
	require.Zero(t, (&Nodes{Name: "b"}).Price())
}

func TestNodesOfAMemberCanBeLeftToOthers(t *testing.T) {
	a, err := LoadAgent("agent.yaml", []byte("member: a\nnodes: {provider: exec, exec: {launch: [make-node], delete: [end-node]}}\n"))
	require.NoError(t, err)
	require.True(t, a.Nodes.Enabled, "unless told otherwise")
	require.Equal(t, []string{"make-node"}, a.Nodes.Exec.Launch)
	require.Equal(t, DefaultMemberNodes().Exec.Timeout, a.Nodes.Exec.Timeout)
	a, err = LoadAgent("agent.yaml", []byte("member: a\nnodes: {enabled: false, provider: exec}\n"))
	require.NoError(t, err, "commands are not needed where nothing is launched")
	require.False(t, a.Nodes.Enabled)
}
