package house

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
)

// many is a namespace with so many ConfigMaps.
func many(namespace string, n int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)
	for i := range n {
		fmt.Fprintf(&out, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%02d, namespace: %s}\ndata: {n: \"%d\"}\n", i, namespace, i)
	}
	return out.String()
}

// placed is a placement of namespaces on every member.
func placed(name string, namespaces ...string) string {
	selectors := make([]string, len(namespaces))
	for i, namespace := range namespaces {
		selectors[i] = fmt.Sprintf(`{group: "", version: v1, kind: Namespace, name: %s}`, namespace)
	}
	return fmt.Sprintf(`
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: %s}
spec:
  resourceSelectors: [%s]
  policy: {placementType: PickAll}
  strategy: {rollingUpdate: {maxUnavailable: 100%%, unavailablePeriodSeconds: 0}}
`, name, strings.Join(selectors, ", "))
}

// says waits until a command prints a text.
func (h *house) says(t *testing.T, want string, args ...string) string {
	t.Helper()
	var out string
	bustest.EventuallyIn(t, patience, func() error {
		if out, _ = h.flotilla(t, args...); !strings.Contains(out, want) {
			return fmt.Errorf("found %s, expected %q", out, want)
		}
		return nil
	})
	return out
}

// What somebody froze stays so though the hub is killed; a placement that is frozen takes no change, cannot be deleted and
// loses nothing to an eviction, and takes the change when it may.
func TestAFreezeOutlivesTheHub(t *testing.T) {
	t.Parallel()
	h := newHouse(t, four...)
	h.apply(t, content("shop", "one")+pickAll("shop"))
	h.converged(t, "shop", 4)
	out, code := h.flotilla(t, "freeze", "placements", "--reason", "the shop has its sale")
	require.Zero(t, code, out)
	require.Contains(t, out, "placements frozen")
	h.hub.Kill()
	h.hub.Start(t)
	out = h.says(t, "FROZEN", "status")
	require.Regexp(t, `^FROZEN  placements frozen by \S+ since \S+: the shop has its sale \(.*\); flotilla unfreeze placements\n`, out)
	h.apply(t, content("shop", "two"))
	h.says(t, "RolloutFrozen", "get", "placement", "shop", "-o", "yaml")
	out, _ = h.flotilla(t, "why", "placement/shop", "--member", "berlin")
	require.Contains(t, out, "placements frozen by")
	h.hold(t, "shop", map[string]string{"berlin": "one", "oslo": "one", "paris": "one", "lima": "one"})
	out, code = h.flotilla(t, "delete", "placement", "shop")
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "the shop has its sale; flotilla unfreeze placements")
	out, code = h.flotilla(t, "evict", "placement/shop", "--member", "berlin")
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "Eviction is blocked, placements frozen by")
	out, code = h.flotilla(t, "unfreeze", "placements")
	require.Zero(t, code, out)
	h.converged(t, "shop", 4)
	h.hold(t, "shop", map[string]string{"berlin": "two", "oslo": "two", "paris": "two", "lima": "two"})
}

// A selection that drops more than 30 % and more than 10 of the objects of members is held, also by a hub that was killed
// meanwhile, until somebody approves exactly that.
func TestAWithdrawalIsHeldUntilItIsApproved(t *testing.T) {
	t.Parallel()
	h := newHouse(t, four...)
	h.apply(t, content("shop", "one")+"---\n"+many("stock", 12)+placed("shop", "shop", "stock"))
	h.converged(t, "shop", 4)
	h.apply(t, strings.TrimPrefix(placed("shop", "shop"), "\n---\n"))
	const held = "WithdrawalHeld: berlin would lose 13 of 15 objects, more than 30 % and more than 10: flotilla approve withdrawal berlin"
	h.says(t, held, "status")
	h.hub.Kill()
	h.hub.Start(t)
	h.says(t, held, "get", "placement", "shop", "-o", "json")
	out, _ := h.flotilla(t, "why", "placement/shop", "--member", "berlin")
	require.Contains(t, out, held)
	for _, member := range four {
		require.NotNil(t, live(h.members[member], "Namespace", "stock"), member)
	}
	out, code := h.flotilla(t, "approve", "withdrawal", "berlin")
	require.Zero(t, code, out)
	require.Regexp(t, `berlin loses 13 objects of shop: .* and 3 others`, out)
	bustest.EventuallyIn(t, patience, func() error {
		if live(h.members["berlin"], "Namespace", "stock") != nil {
			return fmt.Errorf("berlin still has it")
		}
		return nil
	})
	for _, member := range four[1:] {
		require.NotNil(t, live(h.members[member], "Namespace", "stock"), member)
	}
	out, code = h.flotilla(t, "approve", "withdrawal", "placement/shop", "--dry-run=server")
	require.Zero(t, code, out)
	require.Contains(t, out, "39 objects in all")
	out, code = h.flotilla(t, "approve", "withdrawal", "placement/shop")
	require.Zero(t, code, out)
	h.converged(t, "shop", 4)
	out, code = h.flotilla(t, "approve", "withdrawal", "placement/shop")
	require.Equal(t, 3, code, out)
	require.Contains(t, out, "nothing of placement/shop is held")
	out, _ = h.flotilla(t, "events", "placement/shop")
	require.Contains(t, out, "WithdrawalApproved")
}
