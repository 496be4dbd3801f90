package why

import (
	"encoding/json"
	"slices"

	"flotilla/core/api"
	"flotilla/core/schedule"
)

// Kinds of flips.
const (
	FlipLabel      = "label"      // a label of the member is set or removed
	FlipTaint      = "taint"      // a taint of the member is added or removed
	FlipProperty   = "property"   // a property of the member reaches a value
	FlipHealth     = "health"     // the member becomes eligible
	FlipNamespace  = "namespace"  // the namespace comes to be on the member
	FlipJoin       = "join"       // a member of the name joins
	FlipLeave      = "leave"      // the member leaves the fleet
	FlipScale      = "scale"      // numberOfClusters changes
	FlipNames      = "names"      // clusterNames gains or loses the member
	FlipToleration = "toleration" // the policy gains a toleration
	FlipThreshold  = "threshold"  // the value of a property expression changes
	FlipSkew       = "skew"       // a spread constraint is loosened
	FlipWeight     = "weight"     // the weight of a preferred term changes
	FlipEvicted    = "evicted"    // evicted members are allowed again
)

// Flip is one change of one thing. It exists as Explain made it: one read from JSON has its words and
// changes nothing.
type Flip struct {
	Kind string `json:"kind"`
	// Text says what changes, "label region=eastus on member berlin".
	Text string `json:"text"`
	// Command does it, where one command can.
	Command string `json:"command,omitempty"`

	member       *api.Member
	policy       *api.Policy
	allowEvicted bool
}

// Apply returns the input with the change made; in stays as it is.
func (f *Flip) Apply(in schedule.Input) schedule.Input {
	if f.member != nil {
		in.Fleet = in.Fleet.Clone()
		in.Fleet.Set(*f.member)
	}
	return f.applyPolicy(in)
}

func (f *Flip) applyPolicy(in schedule.Input) schedule.Input {
	in.AllowEvicted = in.AllowEvicted || f.allowEvicted
	if f.policy == nil {
		return in
	}
	old := in.PolicyDigest
	if old == "" {
		old = schedule.PolicyDigest(in.Policy)
	}
	in.Existing = slices.Clone(in.Existing)
	for i := range in.Existing {
		if in.Existing[i].Policy == "" {
			in.Existing[i].Policy = old
		}
	}
	in.Policy, in.PolicyDigest = f.policy, schedule.PolicyDigest(f.policy)
	return in
}

// clonePolicy returns a copy that can be changed; a nil policy becomes the PickAll that it means.
func clonePolicy(p *api.Policy) *api.Policy {
	if p == nil {
		return &api.Policy{PlacementType: api.PickAll}
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic("a policy holds only strings and numbers: " + err.Error())
	}
	clone := &api.Policy{}
	if err := json.Unmarshal(text, clone); err != nil {
		panic("a policy reads what it wrote: " + err.Error())
	}
	return clone
}
