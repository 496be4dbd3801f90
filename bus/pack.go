package bus

import (
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

// Unpack returns the JSON of a stored value of a record or command.
func Unpack(stored []byte) ([]byte, error) { return answerBounds.unpack(stored) }

// decode reads JSON that may be packed.
func decode(stored []byte, within bounds, into any) error {
	value, err := within.unpack(stored)
	if err != nil {
		return err
	}
	return json.Unmarshal(value, into)
}
