package bus

import (
	"bytes"

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

func gzipTo(b *bytes.Buffer, text []byte) error {
	w := gzip.NewWriter(b)
	if _, err := w.Write(text); err != nil {
		return err
	}
	return w.Close()
}
