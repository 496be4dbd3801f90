// Package planted plants values that may be found nowhere, and searches them wherever Flotilla leaves or says anything:
// in messages that streams keep, in files, and in what somebody hears who listens on the servers.
package planted

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
)

// Value is one that may not be found.
type Value struct {
	Text  string
	forms [][]byte // what it looks like, raw and in base64 at each alignment
}

// New makes a value that is nowhere yet.
func New() *Value { return Of("planted-" + rand.Text()) }

// Of searches a value that is known.
func Of(text string) *Value {
	v := &Value{Text: text, forms: [][]byte{[]byte(text)}}
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), text...))
		from := (8*shift + 5) / 6 // digits that hold bits of what stands before
		v.forms = append(v.forms, []byte(encoded[from:len(encoded)-1]))
	}
	return v
}

// In says whether the value is in bytes, or in anything that is packed in them.
func (v *Value) In(data []byte) bool {
	for _, form := range v.forms {
		if bytes.Contains(data, form) {
			return true
		}
	}
	for _, magic := range [][]byte{{0x1f, 0x8b, 8}, []byte("\xff\x06\x00\x00S2sTwO"), []byte("\xff\x06\x00\x00sNaPpY")} {
		for rest := data; ; {
			at := bytes.Index(rest, magic)
			if at < 0 {
				break
			}
			if v.In(unpacked(magic[0], rest[at:])) {
				return true
			}
			rest = rest[at+len(magic):]
		}
	}
	return false
}

// unpacked is as much as can be read.
func unpacked(magic byte, data []byte) []byte {
	var from io.Reader = s2.NewReader(bytes.NewReader(data))
	if magic == 0x1f {
		zipped, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil
		}
		zipped.Multistream(false)
		from = zipped
	}
	text, _ := io.ReadAll(io.LimitReader(from, 64<<20)) // what comes before an error counts
	return text
}

// Messages lists where the value is in what streams hold.
func (v *Value) Messages(t testing.TB, c *bus.Conn) (found []string, seen int) {
	t.Helper()
	streams := c.JS.ListStreams(t.Context())
	for info := range streams.Info() {
		stream, err := c.JS.Stream(t.Context(), info.Config.Name)
		require.NoError(t, err)
		for at := info.State.FirstSeq; at <= info.State.LastSeq; at++ {
			m, err := stream.GetMsg(t.Context(), at)
			if err != nil {
				require.ErrorIs(t, err, jetstream.ErrMsgNotFound)
				continue
			}
			seen++
			if v.In(append([]byte(fmt.Sprint(m.Header)), m.Data...)) {
				found = append(found, m.Subject)
			}
		}
	}
	require.NoError(t, streams.Err())
	return found, seen
}

// Files lists the files of a folder that hold the value.
func (v *Value) Files(t testing.TB, dir string) (found []string, seen int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		seen++
		if v.In(text) {
			found = append(found, path)
		}
		return err
	}))
	return found, seen
}

// Log is a log that can be searched.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes what is logged.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// Text is all that was logged.
func (l *Log) Text() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text.Bytes())
}

// Ear keeps everything that a user of the servers may hear.
type Ear struct {
	nc   *nats.Conn
	mu   sync.Mutex
	told []*nats.Msg
}

// Listen hears all subjects of the account of a connection.
func Listen(t testing.TB, nc *nats.Conn) *Ear {
	t.Helper()
	e := &Ear{nc: nc}
	heard, err := nc.Subscribe(">", func(m *nats.Msg) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.told = append(e.told, m)
	})
	require.NoError(t, err)
	require.NoError(t, heard.SetPendingLimits(-1, -1))
	require.NoError(t, nc.Flush())
	return e
}

// Heard lists the subjects on which the value was heard until now.
func (e *Ear) Heard(t testing.TB, v *Value) (found []string, heard int) {
	t.Helper()
	require.NoError(t, e.nc.Flush())
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.told {
		if v.In(append([]byte(fmt.Sprint(m.Header)), m.Data...)) {
			found = append(found, m.Subject)
		}
	}
	return found, len(e.told)
}
