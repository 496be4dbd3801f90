package door_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/eviction"
	"flotilla/core/guard"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// Evictions are removed once they were decided on for long enough, in the hub's own name; what was not decided on stays.
func TestEvictionsAreRemovedInTime(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, web)
	for name, age := range map[string]time.Duration{"old": eviction.KeptFor + time.Hour, "young": time.Hour, "replaced": 0, "undecided": 0} {
		uid := h.apply(strings.ReplaceAll(webOff, "name: web-off", "name: "+name))[0].UID
		if name == "replaced" {
			uid, age = "another", 2*eviction.KeptFor
		}
		if name != "undecided" {
			write(h, subjects.Evictions, name, api.EvictionRecord{Eviction: name, UID: uid, PlacementEvictionStatus: api.PlacementEvictionStatus{
				Conditions: []metav1.Condition{{Type: api.EvictionValid, LastTransitionTime: metav1.NewTime(elsewhen.Now().Add(-age))}},
			}})
		}
	}
	h.gone(api.KindEviction, "", "old")
	bustest.EventsUntil(t, h.server.Inspector(t), "eviction/old", "Deleted: ClusterResourcePlacementEviction/old")
	for _, name := range []string{"young", "replaced", "undecided"} {
		h.get(api.KindEviction, "", name)
	}
}

// What somebody said of an object goes with it; of a member that is heard still a freeze stays.
func TestWhatIsAboutWhatIsGoneIsRemoved(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, web, berlin)
	write(h, subjects.Members, "lost", beat(elsewhen.Now(), "lost", nil))
	freezes, approvals := store.TableOf[api.Freeze](h.store.State, subjects.Freezes), store.TableOf[api.WithdrawalApproval](h.store.State, subjects.Approvals)
	ended := metav1.NewTime(elsewhen.Now())
	for scope, end := range map[string]*metav1.Time{api.FreezeRuns: nil, api.FreezeOf("berlin"): &ended, api.FreezeOf("lost"): nil, api.FreezeOf("gone"): nil} {
		write(h, subjects.Freezes, scope, api.Freeze{Header: api.NewHeader(api.KindFreeze), Scope: scope, By: "anna", Ended: end})
	}
	for name, of := range map[string]string{
		guard.ApprovalOfPlacement("web"): "placement/web", guard.ApprovalOfPlacement("shop/gone"): "placement/shop/gone",
		guard.ApprovalOfMember("berlin"): "member/berlin", guard.ApprovalOfMember("gone"): "member/gone",
	} {
		write(h, subjects.Approvals, name, api.WithdrawalApproval{Header: api.NewHeader(api.KindApproval), Of: of})
	}
	left := func(freeze, approval []string) {
		t.Helper()
		bustest.Eventually(t, func() error {
			return same("what is left", append(freeze, approval...), append(freezes.Names(), approvals.Names()...))
		})
	}
	left([]string{api.FreezeOf("berlin"), api.FreezeOf("lost"), api.FreezeRuns}, []string{"member.berlin", "placement.web"})
	h.delete(api.KindClusterResourcePlacement, "", "web")
	h.gone(api.KindClusterResourcePlacement, "", "web")
	h.delete(api.KindMemberCluster, "", "berlin")
	h.gone(api.KindMemberCluster, "", "berlin")
	erase[api.MemberRecord](h, subjects.Members, "lost")
	left([]string{api.FreezeRuns}, nil)
}
