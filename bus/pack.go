package bus

import (
	"encoding/json"
)

// packed is the first byte of a value that is gzipped; JSON never begins with it.
const packed = 'z'

// Encode renders a value as JSON; a json.RawMessage stays as it is.
func Encode(value any) ([]byte, error) {
	if raw, ok := value.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(value)
}

// Unpack returns the JSON of a stored value of a record or command.
func Unpack(stored []byte) ([]byte, error) { return answerBounds.Unpack(stored) }

// Decode reads JSON that may be packed.
func Decode(stored []byte, within Bounds, into any) error {
	value, err := within.Unpack(stored)
	if err != nil {
		return err
	}
	return json.Unmarshal(value, into)
}
