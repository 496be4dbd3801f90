package configs

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strconv"
	"time"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// Types of targets: a member in memory, and a Kubernetes cluster.
const (
	TargetMemory     = "memory"
	TargetKubernetes = "kubernetes"
)

// secretName is what names a Secret.
var secretName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// maxNodes bounds the nodes of one entry.
const maxNodes = 10000

// Between heartbeats pass at least, and usually, so long.
const (
	leastHeartbeat = Duration(time.Second)
	usualHeartbeat = Duration(15 * time.Second)
)

// Agent is the configuration of an agent, configs/agent.yaml.
type Agent struct {
	// Fleet is the name of the fleet.
	Fleet string `json:"fleet,omitempty"`
	// Member is the name of the member, a DNS label.
	Member string `json:"member,omitempty"`
	// Token, @ and the path of a file that holds it, or - for standard input, is what the agent enrols with once; without a member it is
	// for the one that it names.
	Token string `json:"token,omitempty"`
	// Bus names the servers, and credentials that somebody else made.
	Bus Bus `json:"bus,omitzero"`
	// DataDir is where the agent keeps its index and the content it was given.
	DataDir string `json:"dataDir,omitempty"`
	// Pod is what there is of the agent where it runs in a pod of a Kubernetes cluster.
	Pod Pod `json:"pod,omitzero"`
	// Labels that the agent offers; the hub takes those whose keys the member's spec allows.
	Labels map[string]string `json:"labels,omitempty"`
	// Location, ResourceGroup and SubscriptionID become the labels fleet.azure.com/location,
	// /resource-group and /subscription-id.
	Location       string `json:"location,omitempty"`
	ResourceGroup  string `json:"resourceGroup,omitempty"`
	SubscriptionID string `json:"subscriptionID,omitempty"`
	// Properties are reported beside those that the agent observes, and win over them.
	Properties map[string]string `json:"properties,omitempty"`
	// Cost of the member's nodes, reported as properties.
	Cost Cost `json:"cost,omitzero"`
	// Observe is what else is reported as properties.
	Observe Observe `json:"observe,omitzero"`
	// HeartbeatInterval is how often the agent reports, give or take some jitter.
	HeartbeatInterval Duration `json:"heartbeatInterval,omitempty"`
	// MemoryLimit is what the process keeps to, "256Mi"; "0" for none, empty for GOMEMLIMIT or nine tenths of what its
	// cgroup allows.
	MemoryLimit string `json:"memoryLimit,omitempty"`
	// MetricsAddress serves metrics under /metrics; empty for none.
	MetricsAddress string `json:"metricsAddress,omitempty"`
	Log            Log    `json:"log,omitzero"`
	Target         Target `json:"target,omitzero"`
	// ClusterResourceID identifies the cluster behind the member for ever; the uid of its namespace
	// kube-system when empty.
	ClusterResourceID string `json:"clusterResourceID,omitempty"`
	// Maintenance is what the member's provider knows of its maintenance windows; a MemberMaintenance
	// on the hub wins over it.
	Maintenance *api.MaintenanceConfiguration `json:"maintenance,omitempty"`
	ClusterAPI  ClusterAPI                    `json:"clusterAPI,omitzero"`
	Upgrade     Upgrade                       `json:"upgrade,omitzero"`
	Nodes       MemberNodes                   `json:"nodes,omitzero"`
}

// Pod is a pod that an agent runs in.
type Pod struct {
	// ServiceAccount is the folder of its service account, where kubelets put it when empty.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// Secret of its namespace in which the agent keeps its keys and credentials.
	Secret string `json:"secret,omitempty"`
}

// Cost is in US dollars per hour, as decimal text: "0.022".
type Cost struct {
	// Catalog is a file with an InstanceCatalog, by which nodes have a price.
	Catalog     string `json:"catalog,omitempty"`
	PerCPUCore  string `json:"perCPUCore,omitempty"`
	PerGBMemory string `json:"perGBMemory,omitempty"`
}

// Observe is a command that says properties of the member.
type Observe struct {
	// Interval is how often it is run.
	Interval Duration       `json:"interval,omitempty"`
	Exec     ObserveCommand `json:"exec,omitzero"`
}

// ObserveCommand is a command that prints properties as JSON, an object of texts. No shell reads it.
type ObserveCommand struct {
	Command []string `json:"command,omitempty"`
	// Environment is added to that of the agent.
	Environment map[string]string `json:"environment,omitempty"`
	// Directory it runs in, the agent's when empty.
	Directory string `json:"directory,omitempty"`
	// Timeout ends it, and all it started, when it takes longer.
	Timeout Duration `json:"timeout,omitempty"`
	// Grace is how long it may take to end by itself when it is told to.
	Grace Duration `json:"grace,omitempty"`
}

func (c *checks) observe(o *Observe) {
	c.positive("observe.interval", o.Interval, Duration(time.Second), Duration(24*time.Hour))
	c.command("observe.exec.command", o.Exec.Command, "")
	c.environment("observe.exec.environment", o.Exec.Environment)
	c.positive("observe.exec.timeout", o.Exec.Timeout, Duration(time.Second), Duration(time.Hour))
	c.positive("observe.exec.grace", o.Exec.Grace, 0, Duration(time.Hour))
}

// Target is the cluster that the agent stands beside.
type Target struct {
	// Type is memory, or kubernetes; TypeIn says what it is when empty.
	Type       string     `json:"type,omitempty"`
	Kubernetes Kubernetes `json:"kubernetes,omitzero"`
	Memory     Memory     `json:"memory,omitzero"`
}

// TypeIn is Type, and where that is empty a Kubernetes cluster for an agent that runs in a pod and was told nothing of a
// member in memory.
func (t *Target) TypeIn(pod bool) string {
	switch {
	case t.Type != "":
		return t.Type
	case pod && reflect.DeepEqual(t.Memory, DefaultAgent().Target.Memory):
		return TargetKubernetes
	}
	return TargetMemory
}

// Kubernetes is a Kubernetes cluster. Without a kubeconfig the agent runs in a pod of it.
type Kubernetes struct {
	// Kubeconfig is a file that says where the API server is and who the agent is to it.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	// Context of the kubeconfig, its current one when empty.
	Context string `json:"context,omitempty"`
	// Cluster is the uid of the namespace kube-system of the cluster that it has to be; the one that the agent worked on before when
	// empty.
	Cluster string `json:"cluster,omitempty"`
	// Shared says that agents of other fleets work on the cluster too, each on what it placed: nobody looks whose member it is.
	Shared bool `json:"shared,omitempty"`
}

// Memory is a member in memory.
type Memory struct {
	// KubernetesVersion that it claims.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// ReadyAfter is how long what was applied takes to become ready.
	ReadyAfter Duration `json:"readyAfter,omitempty"`
	// MostGrace is the longest that a deleted pod takes to end, whatever grace it has; 0 is no limit.
	MostGrace Duration `json:"mostGrace,omitempty"`
	// ScheduleAfter is how long the pods that take the place of others wait for more of them, so that the
	// largest looks for room first.
	ScheduleAfter Duration `json:"scheduleAfter,omitempty"`
	// Faults to begin with: down, slow=2s, fail=KIND[/NAMESPACE/NAME], stuck=KIND[/NAMESPACE/NAME],
	// fail-launch=POOL and others; configs/agent.yaml lists them.
	Faults []string `json:"faults,omitempty"`
	// Keep has the member lie in dataDir/member: it is then the same after a restart of the agent, and what
	// this configuration says of its version and its nodes counts only when it is first made.
	Keep  bool    `json:"keep,omitempty"`
	Nodes []Nodes `json:"nodes,omitempty"`
}

// Nodes are one or several equal nodes.
type Nodes struct {
	// Name of the node; with Count, the nodes are NAME-1 to NAME-COUNT.
	Name  string `json:"name"`
	Count int    `json:"count,omitempty"`
	// InstanceType and Zone as the provider calls them.
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	// CPU and Memory are quantities, "4" and "16Gi".
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
	// PricePerHour is in US dollars, as decimal text.
	PricePerHour string `json:"pricePerHour,omitempty"`
	// Pool they belong to; entries of one pool describe it once, at the first of them.
	Pool NodePool `json:"pool,omitzero"`
	// NodePool is the Karpenter NodePool they count as nodes of, empty when they are not managed: then
	// they are never disrupted. CapacityType is on-demand, spot or reserved.
	NodePool     string `json:"nodePool,omitempty"`
	CapacityType string `json:"capacityType,omitempty"`
	// Labels, Annotations and Taints they have beside those that follow from the rest.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []api.NodeTaint   `json:"taints,omitempty"`
}

// NodePool is a node pool of a member in memory.
type NodePool struct {
	// Name of the pool, that of the entry of nodes when empty.
	Name string `json:"name,omitempty"`
	// Mode is System or User.
	Mode   string `json:"mode,omitempty"`
	OSType string `json:"osType,omitempty"`
	OSSKU  string `json:"osSKU,omitempty"`
	// Image is the full name of the image its nodes were made from.
	Image string `json:"image,omitempty"`
	// KubernetesVersion of its kubelets, that of the member when empty.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// FromSnapshot says that it was made from a snapshot.
	FromSnapshot bool `json:"fromSnapshot,omitempty"`
}

// PoolName is the name of the node pool that the nodes belong to.
func (n *Nodes) PoolName() string { return cmp.Or(n.Pool.Name, n.Name) }

// Names of the nodes.
func (n *Nodes) Names() []string {
	if n.Count <= 0 {
		return []string{n.Name}
	}
	names := make([]string, n.Count)
	for i := range names {
		names[i] = n.Name + "-" + strconv.Itoa(i+1)
	}
	return names
}

// Price is PricePerHour as a number, 0 when unknown.
func (n *Nodes) Price() float64 {
	price, err := strict.ParseDecimal(n.PricePerHour)
	if err != nil {
		return 0
	}
	return price
}

// AllLabels are the labels that the agent offers, the automatic ones included.
func (a *Agent) AllLabels() map[string]string {
	return with(a.Labels, map[string]string{
		api.LabelLocation: a.Location, api.LabelResourceGroup: a.ResourceGroup, api.LabelSubscriptionID: a.SubscriptionID,
	})
}

// AllProperties are the properties that the agent reports whatever it observes.
func (a *Agent) AllProperties() map[string]string {
	return with(a.Properties, map[string]string{
		api.PropertyCPUCost: a.Cost.PerCPUCore, api.PropertyMemoryCost: a.Cost.PerGBMemory,
	})
}

// with returns own and those of more that have a value; own wins.
func with(own, more map[string]string) map[string]string {
	all := make(map[string]string)
	for key, value := range more {
		if value != "" {
			all[key] = value
		}
	}
	maps.Copy(all, own)
	return all
}

// DefaultAgent returns the configuration of an agent that was told nothing.
func DefaultAgent() Agent {
	return Agent{
		Fleet: "default", DataDir: "flotilla-agent", HeartbeatInterval: usualHeartbeat,
		Log:     Log{Level: "info", Format: "text"},
		Pod:     Pod{Secret: "flotilla-agent"},
		Observe: Observe{Interval: Duration(time.Minute), Exec: ObserveCommand{Timeout: Duration(30 * time.Second), Grace: Duration(5 * time.Second)}},
		Target: Target{Memory: Memory{
			KubernetesVersion: "v1.36.3", ReadyAfter: Duration(2 * time.Second), MostGrace: Duration(time.Second), ScheduleAfter: Duration(50 * time.Millisecond),
		}},
		Upgrade: DefaultUpgrade(), Nodes: DefaultMemberNodes(),
	}
}

// LoadAgent reads the YAML of an agent's configuration over the defaults. The error is strict.Faults,
// every one with its path, or Problems when the text is no YAML.
func LoadAgent(source string, text []byte) (Agent, error) {
	a := DefaultAgent()
	doc, structural, err := strictly(source, text, &a)
	if err != nil {
		return a, err
	}
	return a, named(doc, source, structural, a.Validate())
}

// Validate returns everything wrong with the configuration.
func (a *Agent) Validate() strict.Faults {
	c := checks{}
	c.faults = append(c.faults, validate.MemberName("fleet", a.Fleet)...)
	if a.Member != "" {
		c.faults = append(c.faults, validate.MemberName("member", a.Member)...)
	}
	c.faults = append(c.faults, validate.Labels("labels", a.Labels)...)
	c.labelValue("location", a.Location)
	c.labelValue("resourceGroup", a.ResourceGroup)
	c.labelValue("subscriptionID", a.SubscriptionID)
	c.faults = append(c.faults, validate.Properties("properties", a.Properties)...)
	c.unless(a.DataDir != "", "dataDir", "nothing", "a folder")
	c.unless(secretName.MatchString(a.Pod.Secret) && len(a.Pod.Secret) <= 253, "pod.secret", strconv.Quote(a.Pod.Secret), "the name of a Secret, like flotilla-agent")
	c.decimal("cost.perCPUCore", a.Cost.PerCPUCore)
	c.decimal("cost.perGBMemory", a.Cost.PerGBMemory)
	c.observe(&a.Observe)
	c.positive("heartbeatInterval", a.HeartbeatInterval, leastHeartbeat, Duration(10*time.Minute))
	c.memoryLimit(a.MemoryLimit)
	c.address("metricsAddress", a.MetricsAddress)
	c.log(a.Log)
	c.optional("target.type", a.Target.Type, TargetMemory, TargetKubernetes)
	k := &a.Target.Kubernetes
	c.unless(a.Target.Type == TargetKubernetes || *k == Kubernetes{}, "target.kubernetes", "a cluster", "nothing, because target.type is not "+TargetKubernetes)
	c.unless(k.Kubeconfig != "" || k.Context == "", "target.kubernetes.context", strconv.Quote(k.Context), "nothing, because there is no kubeconfig")
	c.memory(&a.Target.Memory)
	c.maintenance(a.Maintenance)
	c.clusterAPI(&a.ClusterAPI)
	c.upgrade(&a.Upgrade)
	c.memberNodes(&a.Nodes)
	return c.faults
}

// labelValue checks what becomes the value of a label.
func (c *checks) labelValue(path, value string) {
	for _, f := range validate.Labels(path, map[string]string{path: value}) {
		c.add(path, f.Found, f.Expected)
	}
}

func (c *checks) decimal(path, text string) {
	price, err := strict.ParseDecimal(text)
	c.unless(text == "" || err == nil && price >= 0 && price < 1e9, path, strconv.Quote(text), `dollars per hour, like "0.022"`)
}

func (c *checks) memory(m *Memory) {
	c.positive("target.memory.readyAfter", m.ReadyAfter, 0, Duration(time.Hour))
	c.positive("target.memory.mostGrace", m.MostGrace, 0, Duration(time.Hour))
	c.positive("target.memory.scheduleAfter", m.ScheduleAfter, 0, Duration(time.Minute))
	c.version("target.memory.kubernetesVersion", m.KubernetesVersion)
	c.pools(m.Nodes)
	seen := make(map[string]bool)
	for i := range m.Nodes {
		n := &m.Nodes[i]
		at := fmt.Sprintf("target.memory.nodes[%d]", i)
		c.unless(n.Name != "", at+".name", "nothing", "a name")
		if n.Count < 0 || n.Count > maxNodes {
			c.add(at+".count", strconv.Itoa(n.Count), fmt.Sprintf("a number from 1 to %d", maxNodes))
			continue
		}
		c.unless(strict.IsQuantity(n.CPU), at+".cpu", strconv.Quote(n.CPU), `a quantity, like "4" or "3920m"`)
		c.unless(strict.IsQuantity(n.Memory), at+".memory", strconv.Quote(n.Memory), `a quantity, like "16Gi"`)
		c.decimal(at+".pricePerHour", n.PricePerHour)
		c.managed(at, n)
		for _, name := range n.Names() {
			c.unless(!seen[name], at+".name", strconv.Quote(name)+" again", "each node once")
			seen[name] = true
		}
	}
}
