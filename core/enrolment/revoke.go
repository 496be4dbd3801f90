package enrolment

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Revoke is the record of a member whose agent is refused from now on, and whose tokens that were not used are good
// for nothing. False when there is nothing to revoke.
func Revoke(record api.Identity, by string, now time.Time) (next api.Identity, changed bool) {
	return revoke(record, by, now, func(t *api.IssuedToken) bool { return t.Used == nil })
}

// revoke refuses the agent, and the tokens that are meant.
func revoke(record api.Identity, by string, now time.Time, void func(*api.IssuedToken) bool) (next api.Identity, changed bool) {
	tokens := slices.DeleteFunc(slices.Clone(record.Tokens), func(t api.IssuedToken) bool { return void(&t) })
	if record.Key == "" && len(tokens) == len(record.Tokens) {
		return record, false
	}
	if record.Key != "" {
		record.Former = former(record.Former, record.Key)
	}
	record.Tokens = tokens
	record.Key, record.SealingKey, record.Role = "", "", ""
	record.Enrolled, record.Issued, record.Ends, record.Serial = metav1.Time{}, metav1.Time{}, metav1.Time{}, 0
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	record.Revoked, record.RevokedBy = &at, by
	return record, true
}

// Recall is a record of a backup, as it may come back: without tokens that were not used then, because they may have
// been since, and revoked if servers refuse its key.
func Recall(record api.Identity, refused bool, now time.Time) api.Identity {
	record.Tokens = slices.DeleteFunc(slices.Clone(record.Tokens), func(t api.IssuedToken) bool { return t.Used == nil })
	if refused {
		record, _ = Revoke(record, "a restore, because servers refuse its key", now)
	}
	return record
}
