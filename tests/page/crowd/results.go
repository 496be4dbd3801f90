package crowd

import (
	"fmt"
	"hash/fnv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/apply"
)

// Verdict is what comes of a placement on a member.
type Verdict int

// The verdicts.
const (
	WellThere         Verdict = iota // applied and available
	RefusedThere                     // an object is not taken by the API server
	NotAvailableThere                // applied, and its pods crash
	DriftedThere                     // changed on the member, and left so
)

// Of so many results one is not well: of 1,000, as many as the share of each.
const (
	refusedOf1000, notAvailableOf1000, driftedOf1000 = 5, 6, 2
)

// endingOf is what comes of a placement on the member of a player: what a test wants, or what its place in the fleet says.
func (f *Fleet) endingOf(p *player, placement string) Verdict {
	if wanted, ok := p.wanted[placement]; ok {
		return wanted
	}
	switch placement {
	case everywhere:
		return f.troubles[p.name]
	case staged: // or its run would not come to its approval
		return WellThere
	}
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%d/%s/%s", f.options.Seed, p.name, placement)
	switch n := h.Sum32() % 1000; {
	case n < refusedOf1000:
		return RefusedThere
	case n < refusedOf1000+notAvailableOf1000:
		return NotAvailableThere
	case n < refusedOf1000+notAvailableOf1000+driftedOf1000:
		return DriftedThere
	}
	return WellThere
}

// castTroubles says on which members the placement that is everywhere is in trouble: three of few, and of many as many as
// others have.
func castTroubles(players []*player) map[string]Verdict {
	troubles := map[string]Verdict{}
	step := max(1, len(players)/60)
	next := RefusedThere
	for i := len(players) - 1; i >= 0; i -= step {
		if p := players[i]; p.part == partReady {
			troubles[p.name] = next
			if next++; next > DriftedThere {
				next = RefusedThere
			}
		}
	}
	return troubles
}

// resultOf is what an agent reports of an entry that ended as it did.
func (p *player) resultOf(e *api.IndexEntry, v Verdict, at time.Time) api.PlacementResult {
	r := api.PlacementResult{
		Header: api.NewHeader(api.KindPlacementResult), Member: p.name, Placement: e.Placement, UID: e.UID, Order: p.index.order,
		Generation: e.Generation, Snapshot: e.Snapshot, Work: e.Work, Changed: metav1.NewTime(at.UTC().Truncate(time.Second)), Total: 3,
		Applied: "True", AppliedReason: "AllWorkHaveBeenApplied", AppliedMessage: "all 3 objects are applied",
	}
	r.Times = &api.ResultTimes{Received: at.Add(-300 * time.Millisecond).UnixMilli(), Command: p.index.order.Generation, Applied: new(int64(200))}
	if e.Withdrawn {
		r.Withdrawn, r.AppliedMessage = true, "nothing of it is left"
		return r
	}
	deployment := api.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: e.Placement, Name: "web"}
	trouble := func(condition, reason, message string) api.ManifestFailure {
		return api.ManifestFailure{ObjectRef: deployment, Condition: condition, Reason: reason, Message: message}
	}
	switch v {
	case RefusedThere:
		refuse(&r, trouble("Applied", apply.ReasonApplyFailed, refusals[p.number%len(refusals)]))
	case DriftedThere:
		refuse(&r, trouble("Applied", apply.ReasonFoundDrifts, "changed on the member at /spec/replicas (kubectl-edit "+markup+"), and whenToApply is IfNotDrifted"))
	case NotAvailableThere:
		f := trouble("Available", "Progressing", `0 of 3 replicas are available: pods "web-7d9f" are CrashLoopBackOff: exit 1: `+markup)
		r.Available, r.AvailableReason, r.Failed, r.Failures = "False", "NotAllWorkAreAvailable", 1, []api.ManifestFailure{f}
		r.AvailableMessage = "1 of 3 objects are not available yet, first " + f.String() + ": " + f.Message
	default:
		r.Available, r.AvailableReason, r.AvailableMessage = "True", "AllWorkAreAvailable", "all 3 objects are available"
		r.Times.Available = new(int64(300))
	}
	return r
}

// refuse has a result say that an object could not be applied.
func refuse(r *api.PlacementResult, f api.ManifestFailure) {
	r.Applied, r.AppliedReason, r.Failed, r.Failures = "False", "NotAllWorkHaveBeenApplied", 1, []api.ManifestFailure{f}
	r.AppliedMessage = "1 of 3 objects could not be applied, first " + f.String() + ": " + f.Message
	r.Times.Applied = nil
}

// refusals are what API servers say of what they do not take.
var refusals = []string{
	`admission webhook "policy.crowd.example.com" denied the request: <a href="javascript:alert(1)">image</a> web:1 is not signed`,
	`Deployment.apps "web" is invalid: spec.template.spec.containers[0].image: Invalid value: "web:<script>alert(1)</script>": must not have markup`,
	`deployments.apps "web" is forbidden: exceeded quota: compute, requested: limits.cpu=8, used: limits.cpu=60, limited: limits.cpu=64`,
}
