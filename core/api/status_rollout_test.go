package api

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAWithdrawalThatIsOnItsWayIsNoTrouble(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	since := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	for name, row := range map[string]struct {
		w    Withdrawal
		want bool
	}{
		"just told":           {Withdrawal{State: MemberReady, Since: since(time.Second)}, false},
		"overdue":             {Withdrawal{State: MemberReady, Since: since(ConfirmWithin)}, true},
		"refused":             {Withdrawal{State: MemberReady, Since: since(time.Second), Message: "forbidden"}, true},
		"of one that is away": {Withdrawal{State: MemberUnknown, Since: since(time.Second)}, true},
	} {
		require.Equal(t, row.want, row.w.Troubled(now), name)
	}
}
