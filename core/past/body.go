package past

import "encoding/json"

// specOf is the spec in the body of a placement, nil when it cannot be read.
func specOf(body json.RawMessage) json.RawMessage {
	var object struct {
		Spec json.RawMessage `json:"spec"`
	}
	if json.Unmarshal(body, &object) != nil {
		return nil
	}
	return object.Spec
}
