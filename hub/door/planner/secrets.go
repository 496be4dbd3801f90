package planner

import (
	"encoding/json"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/strict"
)

// hidden says that whoever asks may not read Secrets.
func hidden(by api.Caller) bool { return !by.Role.Covers(api.NeededToRead("v1", "Secret")) }

// forbidValues refuses documents that hold values of Secrets from whoever may not read Secrets: the answer would tell whether a value is the
// one that is stored. Digests, as `flotilla get` shows them, tell nothing that is not shown. Documents are judged as merged, with the overlays
// of their objects in them: those may make Secrets of what a document says.
func forbidValues(by api.Caller, raw, merged []json.RawMessage) error {
	if !hidden(by) {
		return nil
	}
	needed := api.NeededToRead("v1", "Secret")
	var faults strict.Faults
	for i := range raw {
		var given, document map[string]any
		if kjson.Unmarshal(raw[i], &given) != nil || kjson.Unmarshal(merged[i], &document) != nil {
			continue // reading it says why
		}
		for _, path := range content.ValuesOf(given, document) {
			faults = append(faults, strict.Fault{
				Object: content.RefOf(document).String(), Document: i + 1, Path: path, Found: "a value of a Secret, asked for by " + by.Name + " who is " + string(by.Role),
				Expected: "the role " + string(needed) + ", or the digest that `flotilla get` shows",
			})
		}
	}
	if len(faults) == 0 {
		return nil
	}
	failure := api.Forbidden(by, needed, "comparing values of Secrets")
	failure.Faults = faults
	return failure
}
