package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// stallAfter is how long a stream must have answered no write before it counts as stalled; a stream whose
	// replicas choose another leader needs less.
	stallAfter = 15 * time.Second
	// stallFresh is within which time of the last write to the lease nobody else can have taken it.
	stallFresh = 20 * time.Second
	// stallFor is how long it counts as stalled while nobody tries again.
	stallFor = 5 * time.Minute
)

// stalls remembers which streams answer no write although the servers are there, as one does whose file
// store had a write error: it says nothing until its server is restarted.
type stalls struct {
	mu     sync.Mutex
	silent map[string]silence // by stream
}

// silence is from the first write that a stream did not answer to the last.
type silence struct{ first, last time.Time }

// NoteWrite takes in how a write to a subject ended that began at a time.
func (c *Conn) NoteWrite(subject string, began time.Time, err error) {
	s := &c.stalls
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := (*jetstream.APIError)(nil)
	switch {
	case err == nil || errors.As(err, &refused):
		if len(s.silent) > 0 {
			delete(s.silent, c.streamOf(subject))
		}
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrNoStreamResponse):
		if s.silent == nil {
			s.silent = map[string]silence{}
		}
		stream := c.streamOf(subject)
		found, known := s.silent[stream]
		if !known {
			found.first = began
		}
		found.last = time.Now()
		s.silent[stream] = found
	}
}

// clear forgets everything: another server answers now, or the same one anew.
func (s *stalls) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = nil
}

// at lists the streams that are stalled, sorted.
func (s *stalls) at(now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var streams []string
	for stream, silent := range s.silent {
		if silent.last.Sub(silent.first) >= stallAfter && now.Sub(silent.last) < stallFor {
			streams = append(streams, stream)
		}
	}
	slices.Sort(streams)
	return streams
}

// fresh says whether a stream is stalled and was tried just now.
func (s *stalls) fresh(stream string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	silent := s.silent[stream]
	return silent.last.Sub(silent.first) >= stallAfter && now.Sub(silent.last) < stallFresh
}

// LeaseStalled says that no hub can lead, because nobody can take the lease.
func (c *Conn) LeaseStalled() bool {
	return c.stalls.fresh(c.Fleet.BucketStream(subjects.Lease), time.Now())
}

// Stalled says which servers have to be restarted, and why: streams of theirs have answered no write for a
// while. It is empty while all answer.
func (c *Conn) Stalled(ctx context.Context) string {
	streams := c.stalls.at(time.Now())
	if len(streams) == 0 {
		return ""
	}
	var keepers []string
	for _, stream := range streams {
		if keeper := c.keeper(ctx, stream); !slices.Contains(keepers, keeper) {
			keepers = append(keepers, keeper)
		}
	}
	return fmt.Sprintf("%s of %s answer no writes, as after a full disk, until the server is restarted: see its log and its disk, make room, "+
		"then restart nats-server %s", strings.Join(streams, ", "), c.url, strings.Join(keepers, ", "))
}

// keeper is the name of the server that leads a stream, or that we are connected to where there is one.
func (c *Conn) keeper(ctx context.Context, stream string) string {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	if found, err := c.JS.Stream(ctx, stream); err == nil {
		if cluster := found.CachedInfo().Cluster; cluster != nil && cluster.Leader != "" {
			return cluster.Leader
		}
	}
	return c.NC.ConnectedServerName()
}

// streamOf is the stream that takes a subject, empty when none of ours does.
func (c *Conn) streamOf(subject string) string {
	for _, asset := range subjects.Assets() {
		for _, taken := range asset.Subjects(c.Fleet) {
			if strings.HasPrefix(subject, strings.TrimSuffix(taken, ">")) {
				return asset.StreamName(c.Fleet)
			}
		}
	}
	return ""
}
