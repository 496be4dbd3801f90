package streams

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"flotilla/bus"
	"flotilla/core/seal"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// Sizes of streams and of their messages, in bytes.
const (
	maxStateMessage     = bus.MaxValue + 4<<10
	maxContentMessage   = bus.MaxContent + seal.Overhead + 1<<10
	maxHeartbeatMessage = bus.MaxHeartbeat + 1<<10
	maxCommandMessage   = 1 << 20
	maxAuditMessage     = bus.MaxAudit + 1<<10

	maxStateBytes     = 4 << 30
	maxLeaseBytes     = 1 << 20
	maxCensusBytes    = 512 << 20
	maxContentBytes   = 8 << 30
	maxHeartbeatBytes = 256 << 20
	maxResultBytes    = 2 << 30
	maxEventsBytes    = 8 << 30
	maxCommandsBytes  = 2 << 30
	maxAuditBytes     = 1 << 30
	maxAuditAge       = 90 * 24 * time.Hour
	maxActsBytes      = 512 << 20
	maxActsAge        = 366 * 24 * time.Hour
)

// shortestWindow of duplicates that the server allows: where agents write, a guessed message id must
// not make the message of another vanish.
const shortestWindow = 100 * time.Millisecond

// metadataFleet marks streams as ours for people with NATS tools.
const metadataFleet = "flotilla.io/fleet"

func baseStream(a subjects.Asset, f subjects.Fleet, o LayoutOptions) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              a.StreamName(f),
		Description:       a.Description,
		Subjects:          a.Subjects(f),
		Metadata:          map[string]string{metadataFleet: f.Name},
		Retention:         jetstream.LimitsPolicy,
		Storage:           jetstream.FileStorage,
		Replicas:          max(1, o.Replicas),
		Discard:           jetstream.DiscardNew,
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxConsumers:      -1,
		AllowDirect:       true,
		Duplicates:        shortestWindow,
	}
}

func stateStream(c *jetstream.StreamConfig, _ subjects.Fleet, _ LayoutOptions) {
	c.MaxBytes, c.MaxMsgSize = maxStateBytes, maxStateMessage
	c.AllowAtomicPublish = true
	c.AllowMsgTTL = true // of delete markers
}

func leaseStream(c *jetstream.StreamConfig, _ subjects.Fleet, _ LayoutOptions) {
	c.MaxBytes, c.MaxMsgSize = maxLeaseBytes, 4<<10
	c.AllowMsgTTL = true
}

func censusStream(c *jetstream.StreamConfig, _ subjects.Fleet, _ LayoutOptions) {
	c.MaxBytes, c.MaxMsgSize = maxCensusBytes, maxStateMessage
}

func contentStream(c *jetstream.StreamConfig, _ subjects.Fleet, _ LayoutOptions) {
	c.MaxBytes, c.MaxMsgSize = maxContentBytes, maxContentMessage
	c.DiscardNewPerSubject = true // written once; compressed before it was sealed
}

func heartbeatStream(c *jetstream.StreamConfig, _ subjects.Fleet, o LayoutOptions) {
	c.MaxBytes, c.MaxMsgSize = maxHeartbeatBytes, maxHeartbeatMessage
	unsynced(c, o)
}

func resultStream(c *jetstream.StreamConfig, _ subjects.Fleet, o LayoutOptions) {
	c.MaxBytes, c.MaxMsgSize = cmp.Or(o.ResultBytes, maxResultBytes), int32(o.Share.Batch())
	unsynced(c, o)
}

func eventsStream(c *jetstream.StreamConfig, _ subjects.Fleet, o LayoutOptions) {
	c.MaxBytes, c.MaxMsgSize = cmp.Or(o.EventBytes, maxEventsBytes), bus.MaxEventMessage
	unsynced(c, o)
}

func commandsStream(c *jetstream.StreamConfig, f subjects.Fleet, _ LayoutOptions) {
	c.MaxBytes, c.MaxMsgSize = maxCommandsBytes, maxCommandMessage
	c.RePublish = &jetstream.RePublish{Source: f.AllCommands(), Destination: f.HintTarget(), HeadersOnly: true}
}

func auditStream(c *jetstream.StreamConfig, _ subjects.Fleet, o LayoutOptions) {
	c.MaxBytes, c.MaxMsgSize = maxAuditBytes, maxAuditMessage
	c.MaxMsgsPerSubject = -1
	c.Discard = jetstream.DiscardOld
	c.MaxAge = maxAuditAge
	unsynced(c, o)
}

func actsStream(c *jetstream.StreamConfig, f subjects.Fleet, o LayoutOptions) {
	auditStream(c, f, o)
	c.MaxBytes, c.MaxAge = maxActsBytes, maxActsAge
}

// Durability of a server.
const (
	DurabilityInterval = "interval" // fsync every second; a power cut may lose the last one
	DurabilityAlways   = "always"   // fsync before every acknowledgement
)

// unsynced lets a stream whose loss heals persist in the background where the server syncs before
// each acknowledgement; the server allows that for one replica only.
func unsynced(c *jetstream.StreamConfig, o LayoutOptions) {
	if o.Durability == DurabilityAlways && c.Replicas == 1 {
		c.PersistMode = jetstream.AsyncPersistMode
	}
}

// Fields that are ours alone: shownFields are for people, workingFields are what commands go by; see owned.
var (
	shownFields   = []string{"description", "metadata"}
	workingFields = []string{"republish", "subjects"}
)

// differences compares two configurations field by field, but for some. Values that mean "not set" are equal.
func differences(found, wanted jetstream.StreamConfig, but []string) []Difference {
	f, w := fields(found), fields(wanted)
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	for name := range w {
		if _, ok := f[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []Difference
	for _, name := range names {
		if !slices.Contains(but, name) && f[name] != w[name] {
			out = append(out, Difference{Stream: wanted.Name, Field: name, Found: shown(f[name]), Wanted: shown(w[name])})
		}
	}
	return out
}

// fields renders each field of a configuration that is set.
func fields(c jetstream.StreamConfig) map[string]string {
	text, _ := json.Marshal(c) // a struct of plain values always marshals
	var all map[string]json.RawMessage
	_ = json.Unmarshal(text, &all)
	set := map[string]string{}
	for name, value := range all {
		switch s := string(value); s {
		case "0", "-1", `""`, "null", "false", "{}", `"none"`:
		default:
			set[name] = strings.Trim(s, `"`)
		}
	}
	return set
}

func shown(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}
