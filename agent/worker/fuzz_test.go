package worker

import (
	"encoding/json"
	"testing"

	"flotilla/core/api"
	"flotilla/tests/limits"
)

// FuzzContent reads bodies and work documents as the agent gets them.
func FuzzContent(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}`))
	f.Add([]byte(`{"kind":"Work","level":1,"manifests":[{"object":{"kind":"ConfigMap","name":"a"},"digest":"ab"}]}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"List","items":[{},{"kind":"List","items":[{}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		limits.Hold(t, 8*len(body), func() {
			_ = decode(api.Manifest{Digest: "ab"}, body)
			var w api.Work
			_ = json.Unmarshal(body, &w)
		})
	})
}
