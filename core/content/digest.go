package content

import (
	"bytes"
	"encoding/json"
	"fmt"

	"flotilla/core/api"
	"flotilla/core/seal"
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

// Work returns the Work document that holds manifests, as it is sealed, with what its readers open each of
// them with; and its digest, which is of the manifests alone: a rotation of secrets does not change it. Equal
// manifests in equal order give equal bytes under the same secrets.
func Work(manifests []api.Manifest, keys *seal.Keyring) (body []byte, digest string, err error) {
	if digest, err = WorkDigest(manifests, keys); err != nil {
		return nil, "", err
	}
	work := api.Work{Header: api.NewHeader(api.KindWork), Manifests: make([]api.WorkManifest, len(manifests))}
	for i := range manifests {
		work.Manifests[i] = api.WorkManifest{Manifest: manifests[i], Piece: keys.Piece(manifests[i].Digest)}
	}
	if body, err = Canonical(work); err != nil {
		return nil, "", fmt.Errorf("encoding work: %w", err)
	}
	return body, digest, nil
}

// WorkDigest is the digest of the Work document that holds manifests.
func WorkDigest(manifests []api.Manifest, keys *seal.Keyring) (string, error) {
	named, err := Canonical(manifests)
	if err != nil {
		return "", fmt.Errorf("encoding work: %w", err)
	}
	return keys.Digest(named), nil
}
