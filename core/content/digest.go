package content

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"flotilla/core/api"
)

// Digest returns the sha256 of body in lower-case hex: the key of body in bucket content.
func Digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

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

// Work returns the Work document that holds manifests, as it lies in bucket content, and its digest.
// Equal manifests in equal order give equal bytes.
func Work(manifests []api.Manifest) (body []byte, digest string, err error) {
	body, err = Canonical(api.Work{Header: api.NewHeader(api.KindWork), Manifests: manifests})
	if err != nil {
		return nil, "", fmt.Errorf("encoding work: %w", err)
	}
	return body, Digest(body), nil
}
