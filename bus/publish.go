package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// PublishTimeout bounds the wait for the acknowledgement of one message or batch.
const PublishTimeout = 5 * time.Second

// Of what is asked of JetStream.
const (
	AskTimeout    = 5 * time.Second  // of one request
	IdleBeat      = 5 * time.Second  // of a watcher's consumer
	InactiveAfter = 10 * time.Second // the server forgets a consumer nobody listens to
)

// HeaderTally carries the tally of state on each write of it.
const HeaderTally = "Flotilla-Tally"

// HeaderPosition is, of a change of an index, where who takes it in stands then.
const HeaderPosition = "Flotilla-Position"

// HeaderNote carries the note of a marker.
const HeaderNote = "Flotilla-Note"

// Headers of KV markers.
const (
	HeaderOperation = "KV-Operation"
	headerMarker    = "Nats-Marker-Reason"
	OperationDelete = "DEL"
)

// Headers of JetStream that nats.go has no option for, or that batches need on each message.
const (
	headerExpected        = "Nats-Expected-Last-Subject-Sequence"
	headerExpectedSubject = "Nats-Expected-Last-Subject-Sequence-Subject"
	HeaderExpectedLast    = "Nats-Expected-Last-Sequence"
	HeaderTTL             = "Nats-TTL"
	HeaderBatchID         = "Nats-Batch-Id"
	HeaderBatchSequence   = "Nats-Batch-Sequence"
	HeaderBatchCommit     = "Nats-Batch-Commit"
)

// ErrWrongSequence is of a message that expected another sequence than the last one.
var ErrWrongSequence = &jetstream.APIError{ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence}

// Publish sends one message and waits for the server. The wait does not end with ctx's cancellation,
// because then nobody would know the outcome; it does end when the connection is lost, because then
// no answer will come.
func (c *Conn) Publish(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	return c.PublishWithin(ctx, m, PublishTimeout)
}

// PublishWithin is Publish with another limit of the wait.
func (c *Conn) PublishWithin(ctx context.Context, m *nats.Msg, limit time.Duration) (*jetstream.PubAck, error) {
	ctx, cancel := c.Answerable(ctx, limit)
	defer cancel()
	began := time.Now()
	ack, err := c.PublishAmong(ctx, m)
	c.NoteWrite(m.Subject, began, err)
	return ack, c.TooLarge(m, err)
}

// Answerable is a context for as long as an answer may come, at most limit: it ends with the connection, not
// with ctx's cancellation.
func (c *Conn) Answerable(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	unlisten := c.Listen(func(d Disturbance, _ error) {
		if d == Lost {
			cancel()
		}
	})
	return ctx, func() { cancel(); unlisten() }
}

// TooLarge explains an error of publishing m when that is what it says.
func (c *Conn) TooLarge(m *nats.Msg, err error) error {
	if errors.Is(err, nats.ErrMaxPayload) {
		return fmt.Errorf("%w: %d bytes, the server takes messages up to %d", ErrTooLarge, len(m.Data), c.NC.MaxPayload())
	}
	return err
}

// Expect makes the server refuse m unless sequence is the last one of m's subject, 0: there is none.
func Expect(m *nats.Msg, sequence uint64) {
	m.Header.Set(headerExpected, strconv.FormatUint(sequence, 10))
}

// ExpectOf is expect for another subject of the same stream.
func ExpectOf(m *nats.Msg, subject string, sequence uint64) {
	Expect(m, sequence)
	m.Header.Set(headerExpectedSubject, subject)
}

// ExpectLast is expect for the whole stream.
func ExpectLast(m *nats.Msg, sequence uint64) {
	m.Header.Set(HeaderExpectedLast, strconv.FormatUint(sequence, 10))
}

// LastMessage reads the newest message of a subject, which may hold wildcards, from the leader of the stream; nil when
// there is none. The library would ask by direct get, which a replica that is behind may answer.
func (c *Conn) LastMessage(ctx context.Context, stream, subject string) (*jetstream.RawStreamMsg, error) {
	return c.message(ctx, stream, map[string]any{"last_by_subj": subject})
}

// MessageFrom is LastMessage of the oldest from a sequence on.
func (c *Conn) MessageFrom(ctx context.Context, stream, subject string, sequence uint64) (*jetstream.RawStreamMsg, error) {
	return c.message(ctx, stream, map[string]any{"seq": sequence, "next_by_subj": subject})
}

func (c *Conn) message(ctx context.Context, stream string, request map[string]any) (*jetstream.RawStreamMsg, error) {
	ask, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	var answer lastAnswer
	if err := c.AskServer(ctx, subjects.LastMessage(c.Domain, stream), ask, &answer); err != nil {
		return nil, err
	}
	return answer.message()
}

// AskServer sends a request to the API of JetStream.
func (c *Conn) AskServer(ctx context.Context, subject string, request []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	m, err := c.NC.RequestWithContext(ctx, subject, request)
	if err != nil {
		return err
	}
	return json.Unmarshal(m.Data, answer)
}

// lastAnswer is the server's answer to subjects.LastMessage.
type lastAnswer struct {
	Error   *jetstream.APIError `json:"error"`
	Message struct {
		Subject  string    `json:"subject"`
		Sequence uint64    `json:"seq"`
		Header   []byte    `json:"hdrs"`
		Data     []byte    `json:"data"`
		Time     time.Time `json:"time"`
	} `json:"message"`
}

// message is what was found, nil when nothing was.
func (a *lastAnswer) message() (*jetstream.RawStreamMsg, error) {
	switch {
	case a.Error != nil && a.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, nil
	case a.Error != nil:
		return nil, a.Error
	}
	found := &jetstream.RawStreamMsg{Subject: a.Message.Subject, Sequence: a.Message.Sequence, Data: a.Message.Data, Time: a.Message.Time}
	if len(a.Message.Header) == 0 {
		return found, nil
	}
	header, err := nats.DecodeHeadersMsg(a.Message.Header)
	found.Header = header
	return found, err
}

// IsMarker says that a message only tells that its key is gone.
func IsMarker(h nats.Header) bool {
	return h.Get(headerMarker) != "" || h.Get(HeaderOperation) != ""
}

// Purge removes what a subject, which may hold wildcards, has in a stream up to a sequence; 0: all of it.
func (c *Conn) Purge(ctx context.Context, stream, subject string, upTo uint64) error {
	found, err := c.JS.Stream(ctx, stream)
	if err != nil {
		return err
	}
	options := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(subject)}
	if upTo > 0 {
		options = append(options, jetstream.WithPurgeSequence(upTo+1))
	}
	return found.Purge(ctx, options...)
}
