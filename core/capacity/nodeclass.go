package capacity

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// ClassHash is the digest of the spec of a node class, as JSON, whatever its kind (N16). Keys in
// another order and other white space give the same digest.
func ClassHash(class json.RawMessage) (string, error) {
	spec, err := classSpec(class)
	if err != nil {
		return "", err
	}
	canonical, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("hashing a node class: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:8]), nil
}

func classSpec(class json.RawMessage) (any, error) {
	var object struct {
		Spec any `json:"spec"`
	}
	decoder := json.NewDecoder(bytes.NewReader(class))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("reading a node class: %w", err)
	}
	return object.Spec, nil
}

// ClassNotes warns of a change of a node class that replaces nodes and is not supported: moving from
// one subnet to another.
func ClassNotes(before, after json.RawMessage) []string {
	subnet := func(raw json.RawMessage) string {
		var class struct {
			Spec struct {
				Subnet string `json:"vnetSubnetID"`
			} `json:"spec"`
		}
		if json.Unmarshal(raw, &class) != nil {
			return ""
		}
		return class.Spec.Subnet
	}
	was, is := subnet(before), subnet(after)
	if was == "" || was == is {
		return nil
	}
	return []string{fmt.Sprintf("spec.vnetSubnetID changes from %q to %q: nodes drift and are replaced; moving between valid subnets is unsupported, the field is there to correct one that is not valid", was, is)}
}
