package content

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Canonical returns value as JSON with sorted keys, no spaces and no HTML escapes, so that equal
// objects have equal digests. It errs only for what JSON cannot express.
func Canonical(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}
