package disruption

import (
	"slices"
	"sort"
)

// Verdict is what is decided about one node.
type Verdict struct {
	Node string `json:"node"`
	Pool string `json:"pool,omitempty"`
	// Disrupt is the reason when the node goes now.
	Disrupt string `json:"disrupt,omitempty"`
	Method  string `json:"method,omitempty"`
	// Refusals are the reasons why methods leave it alone, in their order; of a node that goes, those
	// of the methods before the one that takes it.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Lasting is what would keep the node once no pod is expected on it any more, when that is all that
	// keeps it now and something else would.
	Lasting *Refusal `json:"lasting,omitempty"`
	// Drift is why the node is not what its pool asks for, empty when it is: its NodeClaim's own reason where
	// Karpenter says so.
	Drift string `json:"drift,omitempty"`
}

// Why is the reason that a person would want to hear of a node that stays: the one that lasts, with what
// keeps the node for a moment beside it, else that of the last method that had something to say about it
// beyond what it is not.
func (v Verdict) Why() string {
	text := "no method takes it"
	switch r := v.Current(); {
	case v.Lasting != nil:
		text = v.Lasting.String() + "; and " + r.String()
	case r.Code != "":
		text = r.String()
	}
	if v.Drift != "" {
		text += "; it has drifted: " + v.Drift
	}
	return text
}

// Code is that of the reason which Why begins with, "" for a node that goes.
func (v Verdict) Code() Code {
	if v.Disrupt != "" {
		return ""
	}
	return v.Reason().Code
}

// Reason is the reason that lasts, else the one of now.
func (v *Verdict) Reason() Refusal {
	if v.Lasting != nil {
		return *v.Lasting
	}
	return v.Current()
}

// Current is the reason of now: about drift where the node has drifted, else that of the last method that had
// more to say than what the node is not.
func (v *Verdict) Current() Refusal {
	if v.Drift != "" {
		if i := slices.IndexFunc(v.Refusals, Refusal.aboutDrift); i >= 0 {
			return v.Refusals[i]
		}
	}
	for _, r := range slices.Backward(v.Refusals) {
		switch {
		case r.Code == CodeNotDrifted, r.Code == CodeNotExpired, r.Code == CodeEmpty, r.Code == CodeStatic, r.Code == CodeNotEmpty && r.Method == MethodEmpty:
		default:
			return r
		}
	}
	switch i := slices.IndexFunc(v.Refusals, func(r Refusal) bool { return r.Code == CodeStatic }); {
	case i >= 0:
		return v.Refusals[i]
	case len(v.Refusals) > 0: // a command of the pass came before any method that could take it
		return NotReached
	}
	return Refusal{}
}

// NotReached is why a node stays that no method has come to.
var NotReached = Refusal{Code: CodeNotReached, Message: "another disruption goes first; the node is looked at again after it has begun"}

// Verdict is that on a node, which the decision must have.
func (d *Decision) Verdict(node string) *Verdict {
	i := sort.Search(len(d.Verdicts), func(i int) bool { return d.Verdicts[i].Node >= node })
	return &d.Verdicts[i]
}
