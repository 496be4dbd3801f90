package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// packed is the first byte of a value that is gzipped; JSON never begins with it.
const packed = 'z'

// maxUnpacked bounds what a packed value may grow to, in bytes.
const maxUnpacked = 64 << 20

// encode renders a value as JSON; a json.RawMessage stays as it is.
func encode(value any) ([]byte, error) {
	if raw, ok := value.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(value)
}

// pack returns the stored form of a value: as it is, or gzipped behind the byte packed.
func pack(value []byte) ([]byte, error) {
	if len(value) <= GzipAbove {
		return value, nil
	}
	var b bytes.Buffer
	b.WriteByte(packed)
	if err := gzipTo(&b, value); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Unpack returns the JSON of a stored value of a record or command.
func Unpack(stored []byte) ([]byte, error) {
	if len(stored) == 0 || stored[0] != packed {
		return stored, nil
	}
	return gunzip(stored[1:])
}

func gunzip(text []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	value, err := io.ReadAll(io.LimitReader(r, maxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	if len(value) > maxUnpacked {
		return nil, fmt.Errorf("unpacking: %w", errors.Join(ErrTooLarge, fmt.Errorf("more than %d bytes", maxUnpacked)))
	}
	return value, nil
}

// decode reads JSON that may be packed.
func decode(stored []byte, into any) error {
	value, err := Unpack(stored)
	if err != nil {
		return err
	}
	return json.Unmarshal(value, into)
}
