package content

import (
	"bytes"
	"encoding/json"
	"fmt"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/seal"
)

// UnredactDocument is Unredact for the JSON of an object, or, hidden, UnredactHidden. The function stored returns the stored
// object of a reference; nil is for none. The error names an object that cannot be decoded.
func UnredactDocument(raw json.RawMessage, stored func(api.ObjectRef) (json.RawMessage, error), hidden bool, keys *seal.Keyring) (whole json.RawMessage, left []string, err error) {
	var document, held map[string]any
	if !bytes.Contains(raw, []byte(RedactedBegin)) || kjson.Unmarshal(raw, &document) != nil {
		return raw, nil, nil
	}
	if stored != nil {
		body, err := stored(RefOf(document))
		if err != nil {
			return nil, nil, err
		}
		if err := kjson.Unmarshal(body, &held); err != nil {
			return nil, nil, fmt.Errorf("decoding what is stored of %s: %w", RefOf(document), err)
		}
	}
	if hidden {
		left = UnredactHidden(document, held, keys)
	} else {
		left = Unredact(document, held, keys)
	}
	whole, err = json.Marshal(document)
	return whole, left, err
}
