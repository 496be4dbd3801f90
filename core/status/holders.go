package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// named is how many of the members that hold a rollout up a record lists; all are counted.
const named = 10

// Order of members that hold a rollout up: those whose trouble is certain come first.
const (
	lacksOverrides = iota
	lacksApplied
	lacksAvailable
	lacksHeartbeat
	lacksAnswer
	lacksWithdrawal
)

// holder is a member that a rollout waits for, with its place in the order.
type holder struct {
	member string
	rank   int
	since  time.Time
	view   *view   // nil where a withdrawal is not confirmed
	leaver *leaver // that withdrawal
}

// holders are the members that the rollout waits for: those that have the newest snapshot and are not
// available on it, and, while others wait for their turn, those that take places without being available;
// while others are to join, those that have not given the placement up. Who only waits for its turn, or for its
// unavailablePeriodSeconds, holds nothing up.
func (e *evaluation) holders() []holder {
	var found []holder
	waiting := e.tally[isBehind] > 0
	for i := range e.views {
		v := &e.views[i]
		if v.refused {
			found = append(found, holder{member: v.member, rank: lacksOverrides, since: e.refusedSince(v).Truncate(time.Second), view: v})
			continue
		}
		if v.entry == nil || v.ready || !v.readyAt.IsZero() || !waiting && (!v.current || v.binding.Waiting) {
			continue
		}
		if !v.current && v.available() {
			continue
		}
		found = append(found, holder{member: v.member, rank: rankOf(v), since: v.entry.Since.Truncate(time.Second), view: v})
	}
	if e.tally[isJoining] > 0 { // maxSurge may keep it waiting until another gave the placement up
		for i := range e.leavers {
			l := &e.leavers[i]
			found = append(found, holder{member: l.entry.Member, rank: lacksWithdrawal, since: l.entry.Since.Truncate(time.Second), leaver: l})
		}
	}
	slices.SortStableFunc(found, func(a, b holder) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), a.since.Compare(b.since), cmp.Compare(a.member, b.member))
	})
	return found
}

// rankOf is the place of a member that has been given a snapshot and lacks something.
func rankOf(v *view) int {
	switch {
	case v.offline():
		return lacksHeartbeat
	case v.result == nil:
		return lacksAnswer
	}
	if applied, _ := appliedOf(v.result); applied != metav1.ConditionTrue {
		return lacksApplied
	}
	return lacksAvailable
}

// told is what is told of a member that a rollout waits for.
func (e *evaluation) told(h *holder) api.HeldUp {
	if h.view != nil {
		return e.lacks(h.view)
	}
	return leftover(new(h.leaver.withdrawal()))
}

// leftover is a member that has not given up this placement, or a former one of its name.
func leftover(w *api.Withdrawal) api.HeldUp {
	h := api.HeldUp{ClusterName: w.ClusterName, Since: w.Since, Message: "has not given the placement up yet"}
	if w.State != "" && w.State != api.MemberReady {
		h.Message += ", it is " + string(w.State)
	}
	if w.Message != "" {
		h.Message += ": " + w.Message
	}
	return h
}

// lacks says what a member that has been given a snapshot lacks to be available.
func (e *evaluation) lacks(v *view) api.HeldUp {
	h := api.HeldUp{ClusterName: v.member}
	if v.refused {
		h.Since, h.Message = metav1.NewTime(e.refusedSince(v)).Rfc3339Copy(), oneLine("its overrides cannot be followed: "+v.held)
		return h
	}
	h.Since = v.entry.Since.Rfc3339Copy()
	switch {
	case v.offline():
		h.Message = "no heartbeat" + lastHeard(v)
	case v.result == nil:
		h.Message = fmt.Sprintf("has not answered to snapshot %d yet", v.entry.Snapshot)
	default:
		e.trouble(&h, v.result)
	}
	return h
}

// trouble names the first object in trouble, with what its controller or the API server says of it.
func (e *evaluation) trouble(h *api.HeldUp, r *api.PlacementResult) {
	if len(r.Failures) == 0 {
		switch applied, _ := appliedOf(r); applied {
		case metav1.ConditionTrue:
			h.Message = oneLine(orElse(r.AvailableMessage, "is not available yet"))
		case metav1.ConditionFalse:
			h.Message = oneLine(orElse(r.AppliedMessage, fmt.Sprintf("%d of %d objects could not be applied", r.Failed, r.Total)))
		default:
			h.Message = oneLine(orElse(r.AppliedMessage, "is applying its objects"))
		}
		return
	}
	f := &r.Failures[0]
	h.Kind, h.Namespace, h.Name = f.Kind, f.Namespace, f.Name
	h.Message = objectText(f)
	if more := r.Failed - 1; more > 0 {
		h.Message += fmt.Sprintf(" (and %d more %s)", more, phrase.Plural(more, "object", "objects"))
	}
}

// objectText is "Deployment web/web 0 of 2 available: back-off restarting failed container".
func objectText(f *api.ManifestFailure) string {
	text := nameText(f.ObjectRef) + " "
	switch {
	case f.Condition == api.ConditionAvailable:
		return text + oneLine(orElse(f.Message, "is not available yet"))
	case f.Reason == reasonFoundDrifts:
		return text + "drifted: " + oneLine(f.Message)
	case f.Reason == reasonNoDiffReporting:
		return text + "cannot be compared: " + oneLine(f.Message)
	}
	return text + "cannot be applied: " + oneLine(orElse(f.Message, f.Reason))
}

// nameText is "Deployment shop/cart".
func nameText(ref api.ObjectRef) string {
	if ref.Namespace == "" {
		return ref.Kind + " " + ref.Name
	}
	return ref.Kind + " " + ref.Namespace + "/" + ref.Name
}

// waitsFor is the sentence about a rollout that is not complete: the first of so many holders are told of.
func (e *evaluation) waitsFor(first []api.HeldUp, held int, until time.Time) string {
	switch {
	case e.paused() != nil:
		return e.paused().String()
	case held > 0:
		return "held up by " + heldText(first, held)
	case !until.IsZero():
		return fmt.Sprintf("waits out unavailablePeriodSeconds until %s", until.UTC().Format(time.RFC3339))
	}
	for i := range e.views {
		if v := &e.views[i]; !v.binding.Waiting && !v.current && v.held != "" {
			return v.held
		}
	}
	return "the next step is being decided"
}

// heldText names the first member with what it lacks, and the others.
func heldText(first []api.HeldUp, held int) string {
	text := first[0].ClusterName + ": " + first[0].Message
	if held == 1 {
		return text
	}
	var others []string
	for i := range first[1:min(len(first), 1+shownNames)] {
		others = append(others, first[i+1].ClusterName)
	}
	return text + "; and by " + phrase.First(others, held-1)
}

// oneLine keeps what others wrote from looking like more than one line.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == ' ' }), " ")
}

// brief is a duration as people write it, "10m".
func brief(d time.Duration) string {
	text := d.Round(time.Second).String()
	for _, zero := range []string{"0s", "0m"} {
		if trimmed, cut := strings.CutSuffix(text, zero); cut && trimmed != "" && !unicode.IsDigit(rune(trimmed[len(trimmed)-1])) {
			text = trimmed
		}
	}
	return text
}
