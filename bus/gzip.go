package bus

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/nats-io/nats.go"
)

// Headers of requests and answers whose payload is compressed.
const (
	headerEncoding = "Content-Encoding"
	headerAccept   = "Accept-Encoding"
	encodingGzip   = "gzip"
	headerRoom     = 4 << 10
)

// compress returns a long text gzipped, and says so in the headers of m; a short one as it is.
func compress(m *nats.Msg, text []byte) ([]byte, error) {
	if len(text) <= GzipAbove {
		return text, nil
	}
	var b bytes.Buffer
	by := quick
	if len(text) > quickBelow {
		by = thorough
	}
	if err := by.gzip(&b, text); err != nil {
		return nil, err
	}
	m.Header.Set(headerEncoding, encodingGzip)
	return b.Bytes(), nil
}

// compressors are kept, since each takes a megabyte.
type compressors struct{ pool sync.Pool }

// What is stored, and messages that may be too long for a server, are compressed thoroughly; other messages quickly, in
// half the time and to some 15 % more.
var thorough, quick = compressorsOf(gzip.DefaultCompression), compressorsOf(gzip.BestSpeed)

// quickBelow is the length of a text, in bytes, up to which a message is compressed quickly.
const quickBelow = 1 << 20

func compressorsOf(level int) *compressors {
	return &compressors{sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, level) // which errs for unknown levels alone
		return w
	}}}
}

func (c *compressors) gzip(b *bytes.Buffer, text []byte) error {
	w := c.pool.Get().(*gzip.Writer)
	defer c.pool.Put(w)
	w.Reset(b)
	if _, err := w.Write(text); err != nil {
		return err
	}
	return w.Close()
}

// expanders are kept, since each takes 40 KB.
var expanders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// gunzip returns the first bytes of what a text unpacks to, at most so many; what could be unpacked comes with an error.
func gunzip(text []byte, most int) ([]byte, error) {
	r := expanders.Get().(*gzip.Reader)
	defer expanders.Put(r)
	if err := r.Reset(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(make([]byte, 0, min(most, bytes.MinRead+usualRatio*len(text))))
	_, err := out.ReadFrom(io.LimitReader(r, int64(most)))
	return out.Bytes(), err
}

// usualRatio is how much longer JSON of ours usually is than what it is compressed to.
const usualRatio = 6
