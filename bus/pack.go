package bus

import (
	"bytes"
	"encoding/json"
)

// packed is the first byte of a value that is gzipped; JSON never begins with it.
const packed = 'z'

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
func Unpack(stored []byte) ([]byte, error) { return recordBounds.unpack(stored) }

// decode reads JSON that may be packed.
func decode(stored []byte, within bounds, into any) error {
	value, err := within.unpack(stored)
	if err != nil {
		return err
	}
	return json.Unmarshal(value, into)
}
