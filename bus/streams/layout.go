package streams

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// LayoutOptions says what EnsureLayout may do.
type LayoutOptions struct {
	// Unmanaged is set when somebody else provisions streams: then nothing is made or changed, and
	// what is missing is an error.
	Unmanaged bool
	// Replicas of every stream; 0: three where the servers are a cluster of three or more, else one.
	Replicas int
	// Durability is that of the server, see ServerOptions.
	Durability string
	// Share is what one member may store; ResultBytes and EventBytes are the sizes of the streams that hold
	// the shares of all, 2 GiB and 8 GiB when 0.
	Share                   bus.Share
	ResultBytes, EventBytes int64
}

// Difference is one setting of an existing stream that is not what this build would make.
type Difference struct {
	Stream string // full name
	Field  string // as in the stream's JSON, "max_bytes"
	Found  string
	Wanted string
}

// String is one line for logs, with the command that changes replicas.
func (d Difference) String() string {
	text := fmt.Sprintf("stream %s: %s is %s, this hub would make it %s", d.Stream, d.Field, d.Found, d.Wanted)
	if d.command() != "" {
		text += ": " + d.Command()
	}
	return text
}

// Command changes what can be changed by one, and shows the stream where more is to be thought of.
func (d Difference) Command() string {
	return cmp.Or(d.command(), "nats stream info "+d.Stream)
}

func (d Difference) command() string {
	if flag := flagOf[d.Field]; flag != "" {
		return fmt.Sprintf("nats stream edit %s %s=%s", d.Stream, flag, d.Wanted)
	}
	return ""
}

// flagOf is the flag of `nats stream edit` for fields of a stream's JSON that can be changed as they are.
var flagOf = map[string]string{"num_replicas": "--replicas", "max_bytes": "--max-bytes", "max_msg_size": "--max-msg-size"}

// LayoutReport says what EnsureLayout found and did.
type LayoutReport struct {
	Options     LayoutOptions // that it was asked for with
	Step        int           // number of the last step that holds
	Made        []string      // full names of streams that were created
	Updated     []string      // "stream: field" of owned fields that were applied
	Differences []Difference
	// Sizes are the max_bytes of streams by short name, as they are; not positive without a limit.
	Sizes map[string]int64
}

// step is one numbered change of the layout. Numbers are never reused; new steps are appended.
type step struct {
	number int
	asset  subjects.Asset
	wanted func(f subjects.Fleet, o LayoutOptions) jetstream.StreamConfig
}

// LayoutStep is the number of the newest step this build knows.
func LayoutStep() int { return len(layoutSteps()) }

// firstSteps are those a hub needs before it can compete for the lease: buckets state and lease.
const firstSteps = 2

func layoutSteps() []step {
	assets := map[string]subjects.Asset{}
	for _, a := range subjects.Assets() {
		assets[a.Short] = a
	}
	order := []struct {
		short  string
		wanted func(*jetstream.StreamConfig, subjects.Fleet, LayoutOptions)
	}{
		{subjects.State, stateStream},
		{subjects.Lease, leaseStream},
		{subjects.Content, contentStream},
		{subjects.Heartbeat, heartbeatStream},
		{subjects.Result, resultStream},
		{subjects.Events, eventsStream},
		{subjects.Commands, commandsStream},
		{subjects.Audit, auditStream},
		{subjects.Census, censusStream},
		{subjects.Acts, actsStream},
	}
	steps := make([]step, len(order))
	for i, s := range order {
		asset := assets[s.short]
		steps[i] = step{number: i + 1, asset: asset, wanted: func(f subjects.Fleet, o LayoutOptions) jetstream.StreamConfig {
			c := baseStream(asset, f, o)
			s.wanted(&c, f, o)
			return c
		}}
	}
	return steps
}

// EnsureLayout makes what is missing of buckets and streams, compares what exists, applies only the
// fields Flotilla owns (description, metadata, republish, subjects) and reports other differences without
// touching them. It is idempotent. With Unmanaged it only compares, and what is missing is an error.
func EnsureLayout(ctx context.Context, c *bus.Conn, o LayoutOptions) (LayoutReport, error) {
	return ensureSteps(ctx, c, o, layoutSteps(), 0)
}

// EnsureFirst is EnsureLayout for the buckets that a hub needs before it can compete for the lease. It waits a while for the
// servers of a cluster to find each other.
func EnsureFirst(ctx context.Context, c *bus.Conn, o LayoutOptions) (LayoutReport, error) {
	return ensureSteps(ctx, c, o, layoutSteps()[:firstSteps], gather)
}

func ensureSteps(ctx context.Context, c *bus.Conn, o LayoutOptions, steps []step, gather time.Duration) (LayoutReport, error) {
	report := LayoutReport{Options: o}
	gathering, cancel := context.WithTimeout(ctx, gather)
	defer cancel()
	var missing []string
	for _, s := range steps {
		err := s.ensure(ctx, gathering, c, o, &report)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			missing = append(missing, s.asset.StreamName(c.Fleet))
			continue
		}
		if err != nil {
			return report, fmt.Errorf("layout step %d, stream %s: %w", s.number, s.asset.StreamName(c.Fleet), err)
		}
		report.Step = s.number
	}
	if len(missing) > 0 {
		return report, fmt.Errorf("%w: streams %s are missing and this hub may not make them: provision them, or let the hub, `--manage-streams=true`",
			bus.ErrNotFound, strings.Join(missing, ", "))
	}
	return report, nil
}

func (s step) ensure(ctx, gathering context.Context, c *bus.Conn, o LayoutOptions, report *LayoutReport) error {
	stream, err := c.JS.Stream(ctx, s.asset.StreamName(c.Fleet))
	if errors.Is(err, jetstream.ErrStreamNotFound) && !o.Unmanaged {
		if err := s.make(ctx, gathering, c, o, report); !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return err
		}
		stream, err = c.JS.Stream(ctx, s.asset.StreamName(c.Fleet)) // another hub made it meanwhile
	}
	if err != nil {
		return err
	}
	found := stream.CachedInfo().Config
	report.size(s.asset.Short, found.MaxBytes)
	o.Replicas = replicasBeside(c, o.Replicas, found.Replicas)
	wanted := s.wanted(c.Fleet, o)
	applied := shownFields
	if !o.Unmanaged {
		applied = append(applied, workingFields...)
	}
	report.Differences = append(report.Differences, differences(found, wanted, applied)...)
	next, changed := owned(found, wanted)
	if len(changed) == 0 || o.Unmanaged {
		return nil
	}
	if _, err := c.JS.UpdateStream(ctx, next); err != nil {
		return err
	}
	for _, field := range changed {
		report.Updated = append(report.Updated, wanted.Name+": "+field)
	}
	return nil
}

func (r *LayoutReport) size(short string, bytes int64) {
	if r.Sizes == nil {
		r.Sizes = map[string]int64{}
	}
	r.Sizes[short] = bytes
}

// make makes the stream, with as many replicas as there are servers for when gathering ends.
func (s step) make(ctx, gathering context.Context, c *bus.Conn, o LayoutOptions, report *LayoutReport) error {
	counts := replicasOf(c, o.Replicas)
	var err error
	for i, replicas := range counts {
		o.Replicas = replicas
		wanted := s.wanted(c.Fleet, o)
		create := func() error { _, err := c.JS.CreateStream(ctx, wanted); return err }
		if err = create(); i+1 < len(counts) {
			err = gathered(gathering, err, create)
		}
		if err == nil {
			report.Made = append(report.Made, wanted.Name)
			report.size(s.asset.Short, wanted.MaxBytes)
		}
		if err == nil && i > 0 {
			c.Log.Warn().Str("stream", wanted.Name).Msgf("the cluster had no %d servers that could take a replica: there is one, until `nats stream edit` makes it more", clustered)
		}
		if !lacksServers(err) {
			break
		}
	}
	return placed(err, o.Replicas)
}

// owned returns found with the fields that are ours alone set as wanted, and the names of those that
// differed. Metadata of others is kept.
func owned(found, wanted jetstream.StreamConfig) (jetstream.StreamConfig, []string) {
	var changed []string
	next := found
	if found.Description != wanted.Description {
		next.Description = wanted.Description
		changed = append(changed, "description")
	}
	next.Metadata = maps.Clone(found.Metadata)
	if next.Metadata == nil {
		next.Metadata = map[string]string{}
	}
	maps.Copy(next.Metadata, wanted.Metadata)
	if !maps.Equal(next.Metadata, found.Metadata) {
		changed = append(changed, "metadata")
	}
	if !sameRepublish(found.RePublish, wanted.RePublish) {
		next.RePublish = wanted.RePublish
		changed = append(changed, "republish")
	}
	if !slices.Equal(found.Subjects, wanted.Subjects) {
		next.Subjects = wanted.Subjects
		changed = append(changed, "subjects")
	}
	return next, changed
}

func sameRepublish(a, b *jetstream.RePublish) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// LayoutThere is nil when all streams of the fleet are there, and otherwise names those that are missing. A newer hub makes those of its
// own once it leads: until then the hub that leads says which there are to be.
func LayoutThere(ctx context.Context, c *bus.Conn) error {
	steps := layoutSteps()
	m, err := c.LastMessage(ctx, c.Fleet.BucketStream(subjects.State), c.Fleet.BucketSubject(subjects.State, subjects.LayoutKey))
	if err == nil && m != nil && !bus.IsMarker(m.Header) {
		var led api.Layout
		if err := json.Unmarshal(m.Data, &led); err != nil {
			return fmt.Errorf("the layout record: %w", err)
		}
		steps = steps[:min(max(led.Step, firstSteps), len(steps))]
	}
	_, err = ensureSteps(ctx, c, LayoutOptions{Unmanaged: true}, steps, 0)
	return err
}
