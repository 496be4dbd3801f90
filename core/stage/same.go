package stage

import (
	"reflect"

	"flotilla/core/api"
)

// sameStatus compares two statuses of one run. Only stages that were copied can differ.
func sameStatus(a, b *api.UpdateRunStatus, copied []bool) bool {
	if len(a.Stages) != len(b.Stages) {
		return false
	}
	first, second := *a, *b
	first.Stages, second.Stages = nil, nil
	if !reflect.DeepEqual(&first, &second) {
		return false
	}
	for i := range b.Stages {
		if copied[i] && !sameStage(&a.Stages[i], &b.Stages[i]) {
			return false
		}
	}
	return true
}

func sameStage(a, b *api.StageStatus) bool {
	first, second := *a, *b
	first.Groups, second.Groups = nil, nil
	if len(a.Groups) != len(b.Groups) || !reflect.DeepEqual(&first, &second) {
		return false
	}
	for j := range b.Groups {
		if !sameGroup(&a.Groups[j], &b.Groups[j]) {
			return false
		}
	}
	return true
}

func sameGroup(a, b *api.GroupStatus) bool {
	first, second := *a, *b
	first.Members, second.Members = nil, nil
	if len(a.Members) != len(b.Members) || !reflect.DeepEqual(&first, &second) {
		return false
	}
	for k := range b.Members {
		if !sameMember(&a.Members[k], &b.Members[k]) {
			return false
		}
	}
	return true
}

// sameMember looks at the fields that a step changes, without reflection since there are many members,
// and by instant since times that come from a record carry another zone.
func sameMember(a, b *api.MemberUpdateStatus) bool {
	return a.Status.State == b.Status.State && a.OperationID == b.OperationID && a.Attempt == b.Attempt &&
		a.Reason == b.Reason && a.Message == b.Message && a.SkippedBy == b.SkippedBy && a.Locked == b.Locked &&
		a.PendingSince.Time.Equal(b.PendingSince.Time) && a.NextEligibleTime.Time.Equal(b.NextEligibleTime.Time) &&
		a.WindowClass == b.WindowClass && len(a.History) == len(b.History) && sameLast(a.History, b.History)
}

// sameLast compares the newest attempts; a full history keeps its length when one is added.
func sameLast(a, b []api.UpgradeAttempt) bool {
	n := len(a)
	return n == 0 || a[n-1].OperationID == b[n-1].OperationID && a[n-1].Late == b[n-1].Late && a[n-1].State == b[n-1].State
}
