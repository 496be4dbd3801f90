package health

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// Reasons of problems that have no code of their own.
const (
	ReasonFailed           = "ApplyFailed"
	ReasonInvalid          = "InvalidResourceSelectors"
	ReasonNothing          = "NothingSelected"
	ReasonUnfulfilled      = "SchedulingPolicyUnfulfilled"
	ReasonDeleting         = "Deleting"
	ReasonUnconfirmed      = "Unconfirmed"
	ReasonNotTakenUp       = "NotTakenUp"
	ReasonRunFailed        = "RunFailed"
	ReasonFailedDisruption = "DisruptionFailed"
	ReasonUndoing          = "Undoing"
	ReasonDrainStuck       = "DrainStuck"
	ReasonUndecided        = "NothingDecided"
	ReasonUnreadable       = "Unreadable"
	ReasonNoRoom           = "NoRoom"
	ReasonConnections      = "TooManyConnections"
	ReasonMessages         = "TooManyMessages"
	ReasonUntaken          = "SlowConsumer"
	ReasonResealing        = "Resealing"
	ReasonHeldBack         = "HeldBack"
	ReasonReadsRefused     = "ReadsRefused"
	ReasonServerVersion    = "ServerVersion"
	ReasonSharedCluster    = "SharedCluster"
	reasonLevelTooLow      = "LevelTooLow"
	reasonUnlisted         = "Unlisted"
)

// patience is how long something may be on its way before it is a problem.
const patience = 15 * time.Second

// mostListed is how many problems one screen lists.
const mostListed = 50

// Listed are problems as one screen lists them, the most severe first; of too many it says how many more there are.
func Listed(problems []api.Problem) []api.Problem {
	slices.SortStableFunc(problems, func(a, b api.Problem) int {
		return cmp.Or(cmp.Compare(severity(a.Reason), severity(b.Reason)), cmp.Compare(a.Object, b.Object))
	})
	if more := len(problems) - mostListed; more > 0 {
		problems = append(problems[:mostListed], api.Problem{
			Object: "fleet", Reason: "MoreProblems", Message: phrase.Count(more, "more problem"), Next: "flotilla get crp",
		})
	}
	return problems
}

// severity orders problems: what stops work, what failed, what stands still, what is missing, what only waits.
func severity(reason string) int {
	switch reason {
	case string(api.MemberUnknown), string(api.MemberNotReady), reasonLevelTooLow, api.ReasonNoKey, ReasonRunFailed, ReasonUnreadable, ReasonNoRoom, ReasonConnections, ReasonMessages, ReasonUntaken, api.ReasonStreamFilling, api.ReasonReplicasAway, ReasonServerVersion, ReasonSharedCluster:
		return 0
	case ReasonFailed, ReasonInvalid, ReasonFailedDisruption, api.ReasonDeadlineExceeded:
		return 1
	case ReasonUnfulfilled, ReasonNothing:
		return 3
	case string(api.MemberJoining), reasonUnlisted, ReasonResealing, ReasonDeleting, ReasonUnconfirmed, api.ReasonLockedByRun, api.ReasonOperationInProgress:
		return 4
	}
	return 2
}

// Deleting is the problem of a deletion that waits for some, since it was asked for.
func Deleting(object, next string, since *metav1.Time, waitsFor []string) api.Problem {
	return api.Problem{Object: object, Reason: ReasonDeleting, Since: *since, Message: "waits for " + phrase.Enumerate(waitsFor), Next: next}
}

// earliest is the earlier of two times, of which the first may be none.
func earliest(so, or metav1.Time) metav1.Time {
	if so.IsZero() || or.Before(&so) {
		return or
	}
	return so
}

// Unreadable is the problem of an object about which something is stored that cannot be read; next are the words behind
// "flotilla events".
func Unreadable(object, next string, err error) api.Problem {
	return api.Problem{
		Object: object, Reason: ReasonUnreadable, Message: err.Error() + "; nothing is decided that depends on it", Next: strings.TrimSpace("flotilla events " + next),
	}
}
