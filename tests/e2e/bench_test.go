//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/tests/elsewhen"
)

const (
	// idlePlacements of idleObjects each are what an idle agent looks after.
	idlePlacements, idleObjects = 100, 10
	// settling is how long everything has to come to rest, watching how long it is looked at then.
	settling, watching = 30 * time.Second, 2 * time.Minute
)

// BenchmarkIdleAgent measures an agent beside a quiet cluster that looks after 100 placements of 10 objects: what it
// takes of a processor and of memory, and what it asks of its API server, which must be less than once a second. It
// counts what the API server was asked per object until all were available, too.
func BenchmarkIdleAgent(b *testing.B) {
	f := newFleet(b, "m1")
	c := clusterOf(b, "m1")
	before := count{c, len(requests(b, c))}
	for some := range slices.Chunk(numbers(idlePlacements), 40) { // at most 500 objects are applied at once
		var documents []string
		for _, n := range some {
			documents = append(documents, idle(fmt.Sprintf("idle-%d", n))...)
		}
		f.apply(strings.Join(documents, "\n---\n"))
	}
	f.run("wait", "placement", "--all", "--for=condition=Available", "--timeout=5m")
	applied := len(before.of(b, fleetUser))
	pause(b, settling)
	for b.Loop() {
		since, began, spent := count{c, len(requests(b, c))}, elsewhen.Now(), processor(b, f.agents["m1"].PID())
		pause(b, watching)
		spent, asked := processor(b, f.agents["m1"].PID())-spent, since.of(b, fleetUser)
		seconds := elsewhen.Now().Sub(began).Seconds()
		b.ReportMetric(100*spent.Seconds()/seconds, "%core")
		b.ReportMetric(float64(len(asked))/seconds, "requests/s")
		require.Less(b, float64(len(asked)), seconds, "%v", asked)
	}
	b.ReportMetric(float64(resident(b, f.agents["m1"].PID()))/1e6, "MB")
	b.ReportMetric(float64(applied)/(idlePlacements*idleObjects), "requests/object")
	b.ReportMetric(0, "ns/op")
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// idle are the documents of a placement of 10 objects: a namespace, a Deployment of one pod, a Service, a Secret, and
// six ConfigMaps.
func idle(name string) []string {
	documents := []string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: NS}}", deployment("registry.example/web:v1", 1),
		"{apiVersion: v1, kind: Service, metadata: {name: web, namespace: NS}, spec: {selector: {app: web}, ports: [{port: 80}]}}",
		"{apiVersion: v1, kind: Secret, metadata: {name: web, namespace: NS}, stringData: {password: hunter2}}",
	}
	for n := len(documents); n < idleObjects; n++ {
		documents = append(documents, strings.Replace(config(strings.Repeat("x", 1000)), "name: web", fmt.Sprintf("name: c%d", n), 1))
	}
	documents = append(documents, `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ClusterResourcePlacement, metadata: {name: NS}, spec: {
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: NS}], policy: {placementType: PickAll},
  strategy: {rollingUpdate: {maxUnavailable: 100%, unavailablePeriodSeconds: 0}}}}`)
	for i := range documents {
		documents[i] = strings.ReplaceAll(documents[i], "NS", name)
	}
	return documents
}

// BenchmarkImageChange measures how long a change of one image takes, from when its command is typed until its pods are
// available on three clusters, and until the hub says so.
func BenchmarkImageChange(b *testing.B) {
	f := newFleet(b, members...)
	f.apply(shop("registry.example/web:v0"))
	f.run("wait", "placement/shop", "--for=condition=Available", "--timeout=2m")
	var there, told []time.Duration
	for b.Loop() {
		image := fmt.Sprintf("registry.example/web:v%d", len(there)+1)
		path := f.file("shop.yaml", shop(image))
		began := elsewhen.Now()
		f.run("apply", "-f", path)
		for _, member := range members {
			f.until(func(ctx context.Context) error { return runs(ctx, clusterOf(b, member), image) })
		}
		there = append(there, elsewhen.Now().Sub(began))
		f.run("wait", "placement/shop", "--for=condition=Available", "--timeout=2m")
		told = append(told, elsewhen.Now().Sub(began))
	}
	slices.Sort(there)
	slices.Sort(told)
	for unit, d := range map[string]time.Duration{
		"s/median": there[len(there)/2], "s/worst": there[len(there)-1], "s/told-median": told[len(told)/2], "s/told-worst": told[len(told)-1],
	} {
		b.ReportMetric(d.Seconds(), unit)
	}
}

func pause(b *testing.B, d time.Duration) {
	b.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.Context().Done():
		b.Fatal(context.Cause(b.Context()))
	}
}

// tick is the unit in which the kernel tells the time that a process spent.
const tick = 10 * time.Millisecond

// processor is the time that a process has spent, in itself and in the kernel.
func processor(b *testing.B, pid int) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	_, after, _ := strings.Cut(string(stat), ") ")
	var own, kernel int64
	_, err = fmt.Sscan(strings.Join(strings.Fields(after)[11:13], " "), &own, &kernel)
	require.NoError(b, err)
	return time.Duration(own+kernel) * tick
}

// resident is the memory of a process, bytes.
func resident(b *testing.B, pid int) int {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(b, err)
	for line := range strings.Lines(string(status)) {
		var kib int
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	b.Fatal("no VmRSS in /proc")
	return 0
}
