package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
)

func budget(name, spec string) string {
	return "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: " + name + ", namespace: shop}, spec: {" + spec + ", selector: {matchLabels: {app: web}}}}"
}

func cordon(t *testing.T, m *Member, name string) {
	t.Helper()
	require.NoError(t, m.UpdateNode(t.Context(), name, func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: api.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule})
	}))
}

func TestEvictedPodsEndAndComeBackElsewhere(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a", "b"), ReadyAfter: 5 * time.Second})
	create(t, m, app("Deployment", "web", 1, "1", "terminationGracePeriodSeconds: 20, "))
	create(t, m, app("StatefulSet", "db", 1, "1", ""))
	create(t, m, "{apiVersion: v1, kind: Pod, metadata: {name: bare, namespace: shop}, spec: {containers: [{name: c, image: i}]}}")
	require.Equal(t, "bare=a db-0=a web=a", where(t, m))
	clock.Advance(5 * time.Second)
	cordon(t, m, "a")
	web, db, bare := podNamed(t, m, "web"), podNamed(t, m, "db"), podNamed(t, m, "bare")
	changes := m.Watch(t.Context())
	for _, p := range []*corev1.Pod{web, db, bare} {
		require.NoError(t, m.Evict(t.Context(), refOf(p)))
		require.NoError(t, m.Evict(t.Context(), refOf(p)), "it is on its way already")
	}
	require.Contains(t, drain(changes), target.Change{Owners: []string{""}, Pods: true})
	require.Equal(t, "bare!=a db-0!=a web!=a", where(t, m))
	now := podNamed(t, m, "web")
	require.EqualValues(t, 20, *now.DeletionGracePeriodSeconds)
	require.Equal(t, clock.Now().Add(20*time.Second), now.DeletionTimestamp.UTC())
	require.Equal(t, corev1.ConditionFalse, conditionOf(now, corev1.PodReady).Status)
	require.Nil(t, web.DeletionTimestamp, "what was seen does not change")

	clock.Advance(19 * time.Second)
	require.Equal(t, "bare!=a db-0!=a web!=a", where(t, m))
	clock.Advance(time.Second)
	require.Equal(t, "bare!=a db-0!=a web=b", where(t, m))
	clock.Advance(10 * time.Second)
	require.Equal(t, "db-0=b web=b", where(t, m), "a bare pod does not come back")
	require.NotEqual(t, web.Name, podNamed(t, m, "web").Name)
	require.NotEqual(t, db.UID, podNamed(t, m, "db-0").UID)
	require.True(t, apierrors.IsNotFound(m.Evict(t.Context(), refOf(web))))
	err := m.Evict(t.Context(), refOf(db))
	require.True(t, apierrors.IsConflict(err), "another pod of that name: %v", err)
	require.Equal(t, "0", requested(t, m, "a", corev1.ResourceCPU))
	_, err = m.Get(t.Context(), api.ObjectRef{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "bare"})
	require.True(t, apierrors.IsNotFound(err))
}

func TestBudgetsHoldEvictions(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a"), ReadyAfter: 5 * time.Second})
	create(t, m, app("Deployment", "web", 3, "1", ""))
	create(t, m, budget("keep", "minAvailable: 2"))
	var pods []target.PodRef
	for _, p := range survey(t, m).Pods {
		pods = append(pods, refOf(p))
	}
	require.ErrorContains(t, m.Evict(t.Context(), pods[0]), "the disruption budget keep is still being processed")
	clock.Advance(5 * time.Second)
	require.NoError(t, m.Evict(t.Context(), pods[0]))
	require.EqualValues(t, 0, survey(t, m).Budgets[0].Status.DisruptionsAllowed, "it counts at once")
	err := m.Evict(t.Context(), pods[1])
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	require.ErrorContains(t, err, "the disruption budget keep needs 2 healthy pods and has 2 currently")

	clock.Advance(30 * time.Second)
	require.True(t, apierrors.IsTooManyRequests(m.Evict(t.Context(), pods[1])), "the successor is not ready yet")
	clock.Advance(5 * time.Second)
	create(t, m, budget("other", "maxUnavailable: 3"))
	err = m.Evict(t.Context(), pods[1])
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	require.ErrorContains(t, err, "more than one disruption budget, keep and other")
	require.True(t, m.Remove(api.ObjectRef{APIVersion: "policy/v1", Kind: "PodDisruptionBudget", Namespace: "shop", Name: "other"}))
	require.NoError(t, m.Evict(t.Context(), pods[1]))
	require.NoError(t, m.DeletePod(t.Context(), pods[2], -1), "deletion asks no budget")
	require.True(t, apierrors.IsServiceUnavailable(func() error { m.SetFaults(faults.Faults{Down: true}); return m.Evict(t.Context(), pods[2]) }()))
}

// Of pods that do not run the policy of their budget decides: by default they may go while enough others
// are healthy, with AlwaysAllow always.
func TestUnhealthyPodsMayBeEvicted(t *testing.T) {
	for policy, c := range map[string]struct {
		least string
		want  bool
	}{
		"": {"3", false},
		", unhealthyPodEvictionPolicy: IfHealthyBudget": {"2", true},
		", unhealthyPodEvictionPolicy: AlwaysAllow":     {"3", true},
	} {
		m, clock := world(t, Options{Nodes: nodes("a"), ReadyAfter: 5 * time.Second})
		web := create(t, m, app("Deployment", "web", 2, "1", ""))
		create(t, m, budget("keep", "minAvailable: "+c.least+policy))
		clock.Advance(5 * time.Second)
		replace(t, m, scaled(web, 3), web)
		for _, p := range survey(t, m).Pods {
			ready := conditionOf(p, corev1.PodReady).Status == corev1.ConditionTrue
			err := m.Evict(t.Context(), refOf(p))
			require.Equal(t, !ready && c.want, err == nil, "%s%s: %v", c.least, policy, err)
		}
	}
}

func TestPodsWithoutANodeGoAtOnce(t *testing.T) {
	m, _ := world(t, Options{Nodes: nodes("a")})
	create(t, m, app("Deployment", "web", 1, "9", ""))
	create(t, m, budget("keep", "minAvailable: 1"))
	before := podNamed(t, m, "web")
	require.NoError(t, m.Evict(t.Context(), refOf(before)))
	require.Equal(t, "web?", where(t, m))
	require.NotEqual(t, before.Name, podNamed(t, m, "web").Name)
}

func TestDeletionsAreBroughtForward(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a")})
	create(t, m, app("StatefulSet", "db", 1, "1", ""))
	db := podNamed(t, m, "db")
	require.NoError(t, m.DeletePod(t.Context(), refOf(db), -1))
	require.NoError(t, m.DeletePod(t.Context(), refOf(db), time.Minute), "never later")
	require.EqualValues(t, 30, *podNamed(t, m, "db").DeletionGracePeriodSeconds)
	clock.Advance(10 * time.Second)
	require.NoError(t, m.DeletePod(t.Context(), refOf(db), 5*time.Second))
	require.Equal(t, testNow.Add(15*time.Second), podNamed(t, m, "db").DeletionTimestamp.UTC())
	clock.Advance(5 * time.Second)
	next := podNamed(t, m, "db")
	require.NotEqual(t, db.UID, next.UID)
	clock.Advance(time.Minute)
	require.Equal(t, next.UID, podNamed(t, m, "db").UID, "the first timer ends nothing")
	require.NoError(t, m.DeletePod(t.Context(), refOf(next), 0))
	require.NotEqual(t, next.UID, podNamed(t, m, "db").UID)
}

func TestGraceIsCutForDemos(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a"), MostGrace: time.Second})
	create(t, m, app("StatefulSet", "db", 1, "1", ""))
	db := podNamed(t, m, "db")
	require.NoError(t, m.Evict(t.Context(), refOf(db)))
	require.EqualValues(t, 30, *podNamed(t, m, "db").DeletionGracePeriodSeconds, "what it got")
	clock.Advance(time.Second)
	require.NotEqual(t, db.UID, podNamed(t, m, "db").UID, "what it took")
}

func TestWhatEndsWithItsWorkloadStaysGone(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a")})
	live := create(t, m, app("Deployment", "web", 2, "1", ""))
	require.NoError(t, m.Evict(t.Context(), refOf(podNamed(t, m, "web"))))
	changed := live.DeepCopy()
	require.NoError(t, unstructured.SetNestedField(changed.Object, "other", "spec", "template", "spec", "schedulerName"))
	replace(t, m, changed, live)
	require.Equal(t, "web=a web=a", where(t, m), "a changed template replaces all pods at once")
	require.NoError(t, m.Evict(t.Context(), refOf(podNamed(t, m, "web"))))
	require.NoError(t, m.Delete(t.Context(), removal(t, m, "apps/v1", "Deployment", "shop", "web")))
	clock.Advance(time.Hour)
	require.Empty(t, where(t, m))
	require.Equal(t, "0", requested(t, m, "a", corev1.ResourceCPU))
}

// What takes the place of pods that end together looks for room together, the largest first and, of
// equal ones, in the order of those before them.
func TestSuccessorsLookForRoomTogether(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a", "b", "c"), ScheduleAfter: time.Second})
	for _, text := range []string{app("StatefulSet", "small", 1, "1", ""), app("StatefulSet", "big", 1, "3", ""), app("Deployment", "block", 1, "3500m", "nodeSelector: {kubernetes.io/hostname: c}, ")} {
		create(t, m, text)
	}
	b := nodes("b")[0]
	b.Capacity[corev1.ResourceCPU] = *podNamed(t, m, "big").Spec.Containers[0].Resources.Requests.Cpu()
	m.AddNode(b)
	require.Equal(t, "big-0=a block=c small-0=a", where(t, m))
	cordon(t, m, "a")
	for _, name := range []string{"small", "big"} {
		require.NoError(t, m.Evict(t.Context(), refOf(podNamed(t, m, name))))
	}
	clock.Advance(30 * time.Second)
	require.Equal(t, "big-0? block=c small-0?", where(t, m))
	clock.Advance(time.Second)
	require.Equal(t, "big-0=b block=c small-0?", where(t, m))
}

// A successor has the turn of the pod before it, in whatever order those ended.
func TestSuccessorsInheritTheirTurn(t *testing.T) {
	m, clock := world(t, Options{Nodes: nodes("a", "b"), ScheduleAfter: time.Second})
	for _, name := range []string{"zeta", "alpha"} {
		create(t, m, app("StatefulSet", name, 1, "2", ""))
	}
	m.AddNode(nodes("b")[0])
	create(t, m, app("Deployment", "block", 1, "2", "nodeSelector: {kubernetes.io/hostname: b}, "))
	cordon(t, m, "a")
	for _, name := range []string{"alpha", "zeta"} {
		require.NoError(t, m.Evict(t.Context(), refOf(podNamed(t, m, name))))
	}
	clock.Advance(30 * time.Second)
	clock.Advance(time.Second)
	require.Equal(t, "alpha-0? block=b zeta-0=b", where(t, m))
}
