package bus

import "context"

// LayoutOptions says what EnsureLayout may do.
type LayoutOptions struct {
	// Manage is false when somebody else provisions streams: then nothing is made or changed, and what
	// is missing is an error.
	Manage bool
	// Replicas of every stream, 1 when 0.
	Replicas int
	// Durability is that of the server, see ServerOptions.
	Durability string
}

// Difference is one setting of an existing stream that is not what this build would make.
type Difference struct {
	Stream string // full name
	Field  string // as in the stream's JSON, "max_bytes"
	Found  string
	Wanted string
}

// LayoutReport says what EnsureLayout found and did.
type LayoutReport struct {
	Made        []string // full names of streams that were created
	Missing     []string // that are absent and not managed
	Updated     []string // "stream: field" of owned fields that were applied
	Differences []Difference
}

// EnsureLayout makes what is missing of buckets and streams, compares what exists, applies only the
// fields Flotilla owns (description, metadata, republish) and reports other differences without
// touching them. It is idempotent.
func EnsureLayout(ctx context.Context, c *Conn, o LayoutOptions) (LayoutReport, error) {
	return LayoutReport{}, errUnbuilt
}
