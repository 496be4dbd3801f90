package bus

import (
	"bytes"
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
	if err := gzipTo(&b, text); err != nil {
		return nil, err
	}
	m.Header.Set(headerEncoding, encodingGzip)
	return b.Bytes(), nil
}

// compressors are kept, since each takes a megabyte.
var compressors = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func gzipTo(b *bytes.Buffer, text []byte) error {
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(b)
	if _, err := w.Write(text); err != nil {
		return err
	}
	return w.Close()
}
