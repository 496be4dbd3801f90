package configs

import (
	"fmt"
	"strconv"
	"time"

	"flotilla/core/strict"
	"flotilla/core/validate"
)

// Durabilities of the embedded server.
const (
	// DurabilityInterval writes to disk once a second: a loss of power may take the last second.
	DurabilityInterval = "interval"
	// DurabilityAlways writes to disk before an answer is given.
	DurabilityAlways = "always"
)

// maxReplicas is how many replicas of a stream nats-server allows.
const maxReplicas = 5

// Hub is the configuration of a hub, configs/hub.yaml.
type Hub struct {
	// Fleet is the name of the fleet, a DNS label.
	Fleet string `json:"fleet,omitempty"`
	// DataDir is where the embedded server keeps everything.
	DataDir string `json:"dataDir,omitempty"`
	// DiskReserve is below how much free room nothing more is accepted, "1Gi"; "0" for none, empty for 256 MiB
	// or a fiftieth of what there is, whichever is less.
	DiskReserve string `json:"diskReserve,omitempty"`
	// Dev starts a few members in memory beside the hub.
	Dev bool `json:"dev,omitempty"`
	// Listen is where the embedded server listens.
	Listen Listen `json:"listen,omitzero"`
	// Durability of the embedded server, interval or always.
	Durability string `json:"durability,omitempty"`
	// Bus names external servers; when set, no embedded one is started.
	Bus Bus `json:"bus,omitzero"`
	// Accounts is a folder that `hub accounts` made, with the keys of the accounts on external servers; without it
	// others make credentials there.
	Accounts string `json:"accounts,omitempty"`
	// StrictServers has the hub end where a NATS server is of a version that breaks what Flotilla promises.
	StrictServers bool `json:"strictServers,omitempty"`
	// MemberTimeout is how long a member may be silent before it is Unknown (D21).
	MemberTimeout Duration `json:"memberTimeout,omitempty"`
	// DeletionTimeout is how long a deletion waits for members to confirm.
	DeletionTimeout Duration `json:"deletionTimeout,omitempty"`
	// Withdrawals are bounds of what may be taken away from members at once.
	Withdrawals Withdrawals `json:"withdrawals,omitzero"`
	// Secrets is the file that holds what content is sealed with, of mode 0600; SecretsCommand prints it
	// instead. Without either it is FLOTILLA_SECRETS, or a file in DataDir.
	Secrets        string `json:"secrets,omitempty"`
	SecretsCommand string `json:"secretsCommand,omitempty"`
	// ManageStreams lets the hub create streams and buckets; without it they must be there.
	ManageStreams bool `json:"manageStreams,omitempty"`
	// Replicas of every stream; 0: three where the servers are a cluster of three or more, else one.
	Replicas int `json:"replicas,omitempty"`
	// MemberShare is what one member may store in the streams that agents write.
	MemberShare MemberShare `json:"memberShare,omitzero"`
	// Streams are the sizes of the streams that hold the shares of all members.
	Streams Streams `json:"streams,omitzero"`
	// MemoryLimit is what the process keeps to, "2Gi"; "0" for none, empty for GOMEMLIMIT or nine tenths of what its cgroup
	// allows.
	MemoryLimit string `json:"memoryLimit,omitempty"`
	// RecordsLimit is what all records may take in memory, "2Gi"; "0" for no limit, empty for 2 GiB or half of what the process keeps
	// to, whichever is less.
	RecordsLimit string `json:"recordsLimit,omitempty"`
	// MetricsAddress serves metrics under /metrics; empty for none.
	MetricsAddress string `json:"metricsAddress,omitempty"`
	// Page is the page with which people look at the fleet.
	Page Page `json:"page,omitzero"`
	// Kubernetes is the Kubernetes API with which programs work on the fleet.
	Kubernetes Front `json:"kubernetes,omitzero"`
	Log        Log   `json:"log,omitzero"`
	// SkippedNamespaces are never placed, beside those that Kubernetes and fleets reserve.
	SkippedNamespaces []string `json:"skippedNamespaces,omitempty"`
	// Disruption is about the nodes of members.
	Disruption Disruption `json:"disruption,omitzero"`
	// Checks are what rollout checks may ask, by name.
	Checks Checks `json:"checks,omitzero"`
	// Notifications of what happens in the fleet.
	Notifications []Notification `json:"notifications,omitempty"`
}

// Withdrawals bound what is taken away at once without anybody approving it: what is beyond both is held.
type Withdrawals struct {
	// Percent of the objects of a member, or of the members of a placement.
	Percent int `json:"percent,omitempty"`
	// Count of them.
	Count int `json:"count,omitempty"`
}

// Disruption says when nodes of members are removed or replaced.
type Disruption struct {
	// Enabled lets the hub begin disruptions; without it only what persons delete goes.
	Enabled bool `json:"enabled,omitempty"`
	// ValidationWait is how long a chosen consolidation waits before it is checked again and begun.
	ValidationWait Duration `json:"validationWait,omitempty"`
	// Interval is the least time between two decisions about a member.
	Interval Duration `json:"interval,omitempty"`
	// SpotToSpot lets spot nodes be replaced by cheaper spot nodes.
	SpotToSpot bool `json:"spotToSpot,omitempty"`
	// IgnorePreferences leaves out what pods only prefer.
	IgnorePreferences bool `json:"ignorePreferences,omitempty"`
}

// MemberShare is what one member may store, as amounts of bytes.
type MemberShare struct {
	// Results is for its results, "1Mi".
	Results string `json:"results,omitempty"`
	// Events is for the states of its nodes, "4Mi".
	Events string `json:"events,omitempty"`
}

// Streams are sizes of streams, as amounts of bytes.
type Streams struct {
	Results string `json:"results,omitempty"`
	Events  string `json:"events,omitempty"`
}

// Listen is an address to listen at. Port 0 takes any free port.
type Listen struct {
	Host string `json:"host,omitempty"`
	Port int    `json:"port,omitempty"`
	// TLS is what the embedded server speaks; it is needed beyond loopback.
	TLS ListenTLS `json:"tls,omitzero"`
}

// ListenTLS is the certificate of the embedded server.
type ListenTLS struct {
	// Cert and Key are files in PEM, CA that of the authority that signed them.
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
	CA   string `json:"ca,omitempty"`
	// SelfSigned makes an authority and a certificate in the data directory instead.
	SelfSigned bool `json:"selfSigned,omitempty"`
	// Names of a self-signed certificate beside those of the machine.
	Names []string `json:"names,omitempty"`
}

// External reports whether the hub connects to servers that run elsewhere: its configuration names
// them, or else the environment does with NATS_URL or NATS_CONTEXT, which a development hub ignores.
func (h *Hub) External(getenv func(string) string) bool {
	return h.Bus != Bus{} || !h.Dev && (getenv("NATS_URL") != "" || getenv("NATS_CONTEXT") != "")
}

// DefaultHub returns the configuration of a hub that was told nothing.
func DefaultHub() Hub {
	return Hub{
		Fleet: "default", DataDir: "flotilla-data", Listen: Listen{Host: "127.0.0.1", Port: 4222},
		Durability: DurabilityInterval, ManageStreams: true,
		MemberShare: MemberShare{Results: "1Mi", Events: "4Mi"}, Streams: Streams{Results: "2Gi", Events: "8Gi"},
		MemberTimeout: Duration(5 * time.Minute), DeletionTimeout: Duration(time.Minute),
		Withdrawals: Withdrawals{Percent: 30, Count: 10},
		Log:         Log{Level: "info", Format: "text"},
		Disruption:  Disruption{Enabled: true, ValidationWait: Duration(15 * time.Second), Interval: Duration(10 * time.Second)},
	}
}

// LoadHub reads the YAML of a hub's configuration over the defaults. The error is strict.Faults, every
// one with its path, or Problems when the text is no YAML.
func LoadHub(source string, text []byte) (Hub, error) {
	h := DefaultHub()
	doc, structural, err := strictly(source, text, &h)
	if err != nil {
		return h, err
	}
	h.defaultNotifications()
	return h, named(doc, source, structural, h.Validate())
}

// Validate returns everything wrong with the configuration.
func (h *Hub) Validate() strict.Faults {
	c := checks{faults: validate.MemberName("fleet", h.Fleet)}
	c.unless(h.DataDir != "" || h.Bus != Bus{}, "dataDir", "nothing", "a folder for the embedded server")
	c.unless(h.Listen.Host != "", "listen.host", "nothing", `an address, like "127.0.0.1" or "0.0.0.0"`)
	c.unless(h.Listen.Port >= 0 && h.Listen.Port <= 65535, "listen.port", strconv.Itoa(h.Listen.Port), "a number from 0 to 65535")
	c.choice("durability", h.Durability, []string{DurabilityInterval, DurabilityAlways})
	c.unless(h.MemberTimeout >= 2*leastHeartbeat && h.MemberTimeout <= Duration(24*time.Hour), "memberTimeout",
		strconv.Quote(time.Duration(h.MemberTimeout).String()), "a duration from 2s, two heartbeats of an agent that reports as often as it can, to 24h0m0s")
	_, sized := ParseSize(h.DiskReserve)
	c.unless(sized, "diskReserve", strconv.Quote(h.DiskReserve), anAmount)
	c.memoryLimit(h.MemoryLimit)
	_, sized = ParseSize(h.RecordsLimit)
	c.unless(sized, "recordsLimit", strconv.Quote(h.RecordsLimit), anAmount)
	c.unless(h.Secrets == "" || h.SecretsCommand == "", "secretsCommand", "secrets too", "one of secrets and secretsCommand")
	c.positive("deletionTimeout", h.DeletionTimeout, Duration(time.Second), Duration(24*time.Hour))
	c.unless(h.Withdrawals.Percent >= 1 && h.Withdrawals.Percent <= 100, "withdrawals.percent", strconv.Itoa(h.Withdrawals.Percent), "a number from 1 to 100; with 100 nothing is held")
	c.unless(h.Withdrawals.Count >= 1 && h.Withdrawals.Count <= 1_000_000, "withdrawals.count", strconv.Itoa(h.Withdrawals.Count), "a number from 1 to 1000000")
	c.unless(h.Replicas >= 0 && h.Replicas <= maxReplicas, "replicas", strconv.Itoa(h.Replicas), "0 for as many as the servers suggest, or a number from 1 to 5")
	results := c.amount("memberShare.results", h.MemberShare.Results, 512<<10, 8<<20)
	events := c.amount("memberShare.events", h.MemberShare.Events, 2<<20, 1<<30)
	c.amount("streams.results", h.Streams.Results, results, 1<<40)
	c.amount("streams.events", h.Streams.Events, events, 1<<40)
	c.address("metricsAddress", h.MetricsAddress)
	c.page(&h.Page)
	c.kubernetes(&h.Kubernetes)
	c.log(h.Log)
	for i, name := range h.SkippedNamespaces {
		c.faults = append(c.faults, validate.MemberName("skippedNamespaces["+strconv.Itoa(i)+"]", name)...)
	}
	c.positive("disruption.validationWait", h.Disruption.ValidationWait, Duration(time.Millisecond), Duration(10*time.Minute))
	c.positive("disruption.interval", h.Disruption.Interval, Duration(10*time.Millisecond), Duration(10*time.Minute))
	c.rolloutChecks(&h.Checks)
	c.notifications(h.Notifications)
	return c.faults
}

// Notes returns what is accepted, since it may be meant, but more likely is not.
func (h *Hub) Notes() []string {
	var notes []string
	if least := 2 * usualHeartbeat; h.MemberTimeout < least {
		notes = append(notes, fmt.Sprintf("memberTimeout: found %s, less than two heartbeats of agents that report every %s, as they do by default: "+
			"their members are Unknown again and again; give the hub a --member-timeout of %s or more, or every agent a --heartbeat-interval of %s or less",
			time.Duration(h.MemberTimeout), time.Duration(usualHeartbeat), time.Duration(least), time.Duration(h.MemberTimeout/2)))
	}
	return notes
}
