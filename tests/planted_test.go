package tests

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/hub/dev"
)

// planted is a value that may not be found.
type planted struct {
	value string
	forms [][]byte // what it looks like, raw and in base64 at each alignment
}

func plant() *planted {
	p := &planted{value: "planted-" + rand.Text()}
	p.forms = [][]byte{[]byte(p.value)}
	for shift := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), p.value...))
		from := (8*shift + 5) / 6 // digits that hold bits of what stands before
		p.forms = append(p.forms, []byte(text[from:len(text)-1]))
	}
	return p
}

// in says whether the value is in bytes, or in anything that is packed in them.
func (p *planted) in(data []byte) bool {
	for _, form := range p.forms {
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
			if p.in(unpacked(magic[0], rest[at:])) {
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

// messages lists where the value is in what streams hold.
func (p *planted) messages(t *testing.T, c *bus.Conn) (found []string, seen int) {
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
			if p.in(append([]byte(fmt.Sprint(m.Header)), m.Data...)) {
				found = append(found, m.Subject)
			}
		}
	}
	require.NoError(t, streams.Err())
	return found, seen
}

// files lists the files of a folder that hold the value. Members in memory are clusters, which hold what was applied.
func (p *planted) files(t *testing.T, dir string) (found []string, seen int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		seen++
		if p.in(text) {
			found = append(found, path)
		}
		return err
	}))
	return found, seen
}

// lines is a log that can be searched.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A value of a Secret is in no message that a stream keeps, in no file of the broker or of an agent, and in no log,
// however it is packed: neither as it was applied, nor after it was changed, placed, taken over and deleted.
func TestAPlantedValueIsFoundNowhere(t *testing.T) {
	dir, log := t.TempDir(), &lines{}
	s := newSliceWith(t, func(o *dev.Options) {
		o.Hub.Server.Dir = dir
		o.Hub.Log, o.Log = zerolog.New(log), zerolog.New(log)
	}, "berlin", "paris")
	p, later := plant(), plant()
	secret := func(p *planted) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: web}\nstringData: {raw: %s}\ndata: {encoded: %s}\n",
			p.value, base64.StdEncoding.EncodeToString([]byte("x"+p.value+strings.Repeat("y", 100))))
	}
	s.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\n" + secret(p) + "---\n" + placedEverywhere("web"))
	s.converges("web", 2, "1")
	s.apply(secret(later))
	s.converges("web", 2, "2")

	inspector := inspector(t, s)
	for _, value := range []*planted{p, later} {
		require.True(t, value.in([]byte(value.value)))
		found, seen := value.messages(t, inspector)
		require.Greater(t, seen, 20)
		require.Empty(t, found, "messages")
		found, seen = value.files(t, dir)
		require.Greater(t, seen, 20)
		require.Empty(t, found, "files")
		require.NotContains(t, log.String(), value.value)
	}
}

// placedEverywhere is a placement of a namespace on every member.
func placedEverywhere(namespace string) string {
	return fmt.Sprintf("apiVersion: placement.kubernetes-fleet.io/v1\nkind: ClusterResourcePlacement\nmetadata: {name: web}\nspec:\n"+
		"  policy: {placementType: PickAll}\n  resourceSelectors: [{group: \"\", version: v1, kind: Namespace, name: %s}]\n", namespace)
}

func inspector(t *testing.T, s *slice) *bus.Conn {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	server := s.fleet.Hub.Server()
	c, err := bus.ConnectClient(ctx, bus.Options{Fleet: "test", URL: server.URL(), Creds: server.InspectorCreds(), Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// What is searched for is found where it is, as it is and packed.
func TestAPlantedValueIsFoundWhereItIs(t *testing.T) {
	p := plant()
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", shift) + p.value + "tail"))
		require.True(t, p.in([]byte("{"+text+"}")), "base64 behind %d bytes", shift)
		var zipped, packed bytes.Buffer
		z := gzip.NewWriter(&zipped)
		_, err := z.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		w := s2.NewWriter(&packed)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.True(t, p.in(append([]byte("before"), zipped.Bytes()...)))
		require.True(t, p.in(append([]byte("before"), packed.Bytes()...)))
	}
	require.False(t, p.in([]byte("nothing of it")))
}
