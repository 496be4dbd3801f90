//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/target/contract"
	"flotilla/core/api"
	"flotilla/tests/e2e/lab"
)

// objectCases are about objects that are placed; each has a placement and a namespace of its name, on members that it
// names.
var objectCases = map[string]func(*placed){
	"taken-over":       takenOver,
	"not-taken-over":   notTakenOver,
	"equal-taken-over": equalTakenOver,
	"field-conflict":   fieldConflict,
	"left":             changedAndLeft,
	"fought":           foughtOver,
	"reported":         reported,
	"pruned":           pruned,
	"evicted":          evictedFromOne,
	"overridden":       overriddenOnOne,
	"undone":           undone,
	"staged":           stagedWithApproval,
	"rolled-back":      rolledBack,
	"abandoned":        abandoned,
	"large":            large,
	"late-kind":        lateKind,
	"own-kind":         ownKind,
	"one-of-three":     oneOfThree,
	"job":              jobOnAll,
	"terminating":      stuckTerminating,
	"refused":          refusedByPolicy,
	"quota":            quotaExceeded,
	"no-image":         noImage,
	"killed-agent":     killedAgent,
	"killed-server":    killedServer,
}

// TestObjects places objects on real clusters: one placement alone, whose requests are counted, all cases at once, then
// the hub is away for the whole of an agent's restart.
func TestObjects(t *testing.T) {
	f := newFleet(t, members...)
	t.Run("alone", func(t *testing.T) { alone(f.place(t, "shop")) })
	t.Run("at once", func(t *testing.T) {
		for name, run := range objectCases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := f.place(t, name)
				run(p)
				p.run("delete", "placement", name, "--yes", "--wait", "--timeout=2m")
			})
		}
	})
	t.Run("hub away", func(t *testing.T) { hubAway(f.place(t, "hub-away")) })
}

// placed is one placement on a fleet that others use too.
type placed struct {
	*fleet
	name string
	// deletion is what becomes of the objects when the placement is deleted; empty is Delete.
	deletion string
}

// place returns a fleet for one case, with a namespace and a placement of its name.
func (f *fleet) place(t testing.TB, name string) *placed {
	t.Helper()
	own := *f
	own.TB = t
	return &placed{fleet: &own, name: name}
}

// strategy is an apply strategy as it is written in a placement.
const byServer, byClient = "type: ServerSideApply", "type: ClientSideApply"

// apply applies objects of the case's namespace, and a placement of them on members; all of them when none is named.
func (p *placed) apply(strategy string, objects []string, members ...string) {
	p.Helper()
	policy := "placementType: PickAll"
	if len(members) > 0 {
		policy = "placementType: PickFixed, clusterNames: [" + strings.Join(members, ", ") + "]"
	}
	p.applyWith(strategy, "{"+policy+"}", objects)
}

// applyWith applies objects and a placement of the namespace, and of what more selectors name.
func (p *placed) applyWith(strategy, policy string, objects []string, selectors ...string) {
	p.Helper()
	selectors = append(selectors, `{group: "", version: v1, kind: Namespace, name: `+p.name+"}")
	p.applyObjects(append(objects, fmt.Sprintf(`{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: %s}, spec: {
  resourceSelectors: [%s], policy: %s,
  strategy: {rollingUpdate: {maxUnavailable: 100%%, unavailablePeriodSeconds: 0}, applyStrategy: {%s}, deleteStrategy: {propagationPolicy: %s}}}}`,
		p.name, strings.Join(selectors, ", "), policy, strategy, cmp.Or(p.deletion, api.PropagationDelete))))
}

// applyObjects applies objects, and the namespace that they are in.
func (p *placed) applyObjects(objects []string) {
	p.Helper()
	documents := []string{"{apiVersion: v1, kind: Namespace, metadata: {name: " + p.name + "}}"}
	for _, object := range objects {
		documents = append(documents, strings.ReplaceAll(object, "NS", p.name))
	}
	path := p.path(p.name + ".yaml")
	require.NoError(p, os.WriteFile(path, []byte(strings.Join(documents, "\n---\n")), 0o600))
	p.run("apply", "-f", path)
}

func (p *placed) available() {
	p.Helper()
	p.run("wait", "placement/"+p.name, "--for=condition=Available", "--timeout=2m")
}

// status is what the hub says of the placement.
func (p *placed) status() (api.PlacementStatus, error) {
	out, err := p.try("get", "placement", p.name, "-o", "json")
	if err != nil {
		return api.PlacementStatus{}, err
	}
	var found struct{ Status api.PlacementStatus }
	return found.Status, json.Unmarshal([]byte(out), &found)
}

// says waits until a member's entry is in a state, with a message that has a text.
func (p *placed) says(member, state, text string) api.PerMemberStatus {
	p.Helper()
	var found api.PerMemberStatus
	p.until(func(context.Context) error {
		status, err := p.status()
		if err != nil {
			return err
		}
		at := slices.IndexFunc(status.PlacementStatuses, func(m api.PerMemberStatus) bool { return m.ClusterName == member })
		if at < 0 {
			return fmt.Errorf("nothing is said of %s", member)
		}
		if found = status.PlacementStatuses[at]; found.State != state || !strings.Contains(found.Message, text) {
			return fmt.Errorf("found %s: %s, expected %s: …%s…", found.State, found.Message, state, text)
		}
		return nil
	})
	return found
}

// config is ConfigMap web with a value of a.
func config(value string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: NS}, data: {a: '" + value + "'}}"
}

// plant makes the namespace and ConfigMap web of a case by another hand.
func (p *placed) plant(c *lab.Cluster, value string) {
	p.Helper()
	options := metav1.CreateOptions{FieldManager: contract.Maker}
	_, err := c.Clients().CoreV1().Namespaces().Create(p.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name}}, options)
	require.NoError(p, err)
	_, err = c.Clients().CoreV1().ConfigMaps(p.name).Create(p.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Data: map[string]string{"a": value, "theirs": "stays"},
	}, options)
	require.NoError(p, err)
}

// edit changes ConfigMap web by another hand.
func (p *placed) edit(c *lab.Cluster, value string) {
	p.Helper()
	p.until(func(ctx context.Context) error {
		found, err := c.Clients().CoreV1().ConfigMaps(p.name).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		found.Data["a"] = value
		_, err = c.Clients().CoreV1().ConfigMaps(p.name).Update(ctx, found, metav1.UpdateOptions{FieldManager: contract.Editor})
		return err
	})
}

// holds waits until ConfigMap web has a value.
func (p *placed) holds(c *lab.Cluster, value string) *corev1.ConfigMap {
	p.Helper()
	var found *corev1.ConfigMap
	p.until(func(ctx context.Context) (err error) {
		found, err = c.Clients().CoreV1().ConfigMaps(p.name).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && found.Data["a"] != value {
			err = fmt.Errorf("found %v, expected %s", found.Data, value)
		}
		return err
	})
	return found
}

func takenOver(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.plant(c, "before")
	p.apply(byClient+", whenToTakeOver: Always", []string{config("wanted")}, "m1")
	p.available()
	require.Equal(p, "stays", p.holds(c, "wanted").Data["theirs"])
}

func notTakenOver(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.plant(c, "before")
	p.apply(byClient+", whenToTakeOver: Never", []string{config("wanted")}, "m1")
	entry := p.says("m1", api.EntryFailed, "whenToTakeOver is Never")
	require.Len(p, entry.FailedPlacements, 2)
	require.Equal(p, "NotTakenOver", entry.FailedPlacements[0].Condition.Reason)
	require.Empty(p, p.holds(c, "before").Annotations)
}

func equalTakenOver(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.plant(c, "before")
	strategy := byServer + ", whenToTakeOver: IfNoDiff"
	p.apply(strategy, []string{config("wanted")}, "m1")
	p.says("m1", api.EntryFailed, "different at /data/a ("+contract.Maker+")")
	p.holds(c, "before")
	p.edit(c, "wanted")
	p.available()
	require.NotEmpty(p, p.holds(c, "wanted").Annotations[api.AnnotationOwner])
}

func fieldConflict(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.apply(byServer, []string{config("one")}, "m1")
	p.available()
	p.edit(c, "theirs")
	p.says("m1", api.EntryFailed, "others own .data.a ("+contract.Editor+")")
	p.holds(c, "theirs")
	p.apply(byServer+", serverSideApplyConfig: {force: true}", []string{config("two")}, "m1")
	p.available()
	p.holds(c, "two")
}

func changedAndLeft(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.apply(byClient+", whenToApply: IfNotDrifted", []string{config("one")}, "m1")
	p.available()
	p.edit(c, "theirs")
	p.says("m1", api.EntryDrifted, "/data/a ("+contract.Editor+")")
	p.holds(c, "theirs")
	p.apply(byClient+", whenToApply: IfNotDrifted", []string{config("two")}, "m1")
	p.holds(c, "two")
}

func foughtOver(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.apply(byClient, []string{config("one")}, "m1")
	p.available()
	for range 5 {
		p.edit(c, "theirs")
		p.holds(c, "one")
	}
	p.until(func(context.Context) error {
		out, err := p.try("events", "placement/"+p.name)
		if err == nil && !strings.Contains(out, "DriftFought") {
			err = errors.New(out)
		}
		return err
	})
	require.Contains(p, p.run("describe", "placement", p.name), "/data/a ("+contract.Editor+") and written over five times")
}

func reported(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.plant(c, "before")
	p.apply("type: ReportDiff", []string{config("wanted"), "{apiVersion: v1, kind: Secret, metadata: {name: more, namespace: NS}}"}, "m1")
	p.run("wait", "placement/"+p.name, "--for=condition=DiffReported", "--timeout=2m")
	out := p.run("get", "placement", p.name, "--members")
	require.Contains(p, out, api.EntryDiffers)
	require.Contains(p, out, "ConfigMap reported/web differs at /data/a ("+contract.Maker+") (and 1 more object)")
	require.Empty(p, p.holds(c, "before").Annotations)
}

func pruned(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.apply(byClient, []string{config("one"), strings.Replace(config("one"), "name: web", "name: more", 1)}, "m1")
	p.available()
	p.run("delete", "configmap", "more", "-n", p.name)
	p.until(func(ctx context.Context) error {
		_, err := c.Clients().CoreV1().ConfigMaps(p.name).Get(ctx, "more", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("found it: %w", err)
	})
	p.holds(c, "one")
}

// evictedFromOne leaves one member within its budget, which keeps it on the others.
func evictedFromOne(p *placed) {
	p.apply(byServer, []string{config("one"), "{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ClusterResourcePlacementDisruptionBudget, metadata: {name: NS}, spec: {minAvailable: 2}}"})
	p.available()
	p.run("evict", "placement/"+p.name, "--member", "m1")
	p.until(func(ctx context.Context) error { return gone(ctx, clusterOf(p.TB, "m1"), p.name) })
	_, err := p.try("evict", "placement/"+p.name, "--member", "m2")
	require.ErrorContains(p, err, "Eviction is blocked by specified ClusterResourcePlacementDisruptionBudget")
	p.holds(clusterOf(p.TB, "m2"), "one")
	p.holds(clusterOf(p.TB, "m3"), "one")
}

func abandoned(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.deletion = api.PropagationAbandon
	p.apply(byClient, []string{config("one")}, "m1")
	p.available()
	p.run("delete", "placement", p.name, "--wait", "--timeout=2m")
	left := p.holds(c, "one")
	require.Empty(p, left.Annotations)
	require.Empty(p, left.Labels)
	p.deletion = ""
	p.apply(byClient, []string{config("one")}, "m1") // which the end of the case deletes
	p.available()
}

func large(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.apply(byClient, []string{config(strings.Repeat("x", 900_000))}, "m1")
	p.available()
	require.Len(p, p.holds(c, strings.Repeat("x", 900_000)).Data["a"], 900_000)
}

// until within a case is that of its own test.
func (p *placed) until(condition func(context.Context) error) {
	p.Helper()
	eventually(p.TB, condition)
}

func hubAway(p *placed) {
	c := clusterOf(p.TB, "m1")
	p.apply(byClient, []string{config("one")}, "m1")
	p.available()
	p.hub.Kill()
	p.agents["m1"].Kill()
	p.edit(c, "theirs")
	p.agents["m1"].Start(p.TB)
	p.holds(c, "one")
	p.hub.Start(p.TB)
	p.until(func(context.Context) error {
		_, err := p.try("status")
		return err
	})
	p.run("wait", "member/m1", "--for=jsonpath={.status.state}=Ready", "--timeout=2m")
	p.apply(byClient, []string{config("two")}, "m1")
	p.holds(c, "two")
	p.run("delete", "placement", p.name, "--wait", "--timeout=2m")
}
