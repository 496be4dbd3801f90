package enrolment

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// maxTokens is how many tokens a record remembers, so that it is bounded.
const maxTokens = 8

// CheckLife says what is wrong with the life of a token.
func CheckLife(life time.Duration) error {
	if life < api.LeastTokenLife || life > api.MostTokenLife {
		return fmt.Errorf("a token that holds for %s: expected from %s to %s", life, api.LeastTokenLife, api.MostTokenLife)
	}
	return nil
}

// Issue is the record of a member once a token was made for it. Of tokens that have ended or were used, the oldest
// are forgotten first, and then the oldest of all.
func Issue(record api.Identity, member string, token api.IssuedToken) api.Identity {
	record.Header, record.Name = api.NewHeader(api.KindIdentity), member
	record.Tokens = append(slices.Clone(record.Tokens), token)
	for len(record.Tokens) > maxTokens {
		spent := slices.IndexFunc(record.Tokens, func(t api.IssuedToken) bool { return t.Used != nil || !token.Made.Before(&t.Ends) })
		record.Tokens = slices.Delete(record.Tokens, max(spent, 0), max(spent, 0)+1)
	}
	return record
}

// text is a time for people.
func text(at metav1.Time) string { return at.UTC().Format(time.RFC3339) }
