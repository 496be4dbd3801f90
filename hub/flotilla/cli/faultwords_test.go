package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/bus"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

func TestFaultsNameTheFileAndTheCommandThatMendsIt(t *testing.T) {
	documents := documentsIn(t, "b.yaml", "kind: ConfigMap\ndata: {}\n---\nkind: Secret\nmetadata: {name: key}\n")
	refused := func() *api.Failure {
		return &api.Failure{
			Code: api.CodeInvalid, Message: nothingApplied + "2 faults",
			Faults: strict.Faults{
				{Object: "Secret/key", Path: "metadata.name"},
				{Object: "document 1", Document: 1, Path: "metadata.name"},
				{Object: "ConfigMap", Path: "data.x"},
				{Object: "Namespace/else", Path: "metadata"},
			},
		}
	}
	f := failureOf(describeFaults(refused(), documents, &source{files: []string{"a.yaml", "b.yaml"}}, false))
	require.Equal(t, "refused: 2 faults", f.Message)
	require.Equal(t, "flotilla explain configmap.metadata.name", f.Next, "nothing that correct could put right")
	var where []string
	for _, fault := range f.Faults {
		where = append(where, fault.Where()+" "+fault.Object)
	}
	require.Equal(t, []string{" Namespace/else", "b.yaml:1:1 ConfigMap", "b.yaml:2:1 ConfigMap", "b.yaml:5:12 Secret/key"}, where)
	require.Equal(t, "flotilla apply --dry-run=server -f a.yaml -f b.yaml", f.All)

	f = failureOf(describeFaults(refused(), documents, &source{files: []string{"-"}}, true))
	require.Equal(t, nothingApplied+"2 faults", f.Message, "an apply says so")
	require.Equal(t, "flotilla explain configmap.metadata.name", f.Next, "standard input cannot be read again")

	f = failureOf(notChanged(refused(), "flotilla describe member/berlin"))
	require.Equal(t, "nothing was changed: 2 faults", f.Message)
	require.Equal(t, "flotilla describe member/berlin", f.Next)
}

// TestCorrectIsOfferedWhereItCorrects offers the command only where it leaves nothing over.
func TestCorrectIsOfferedWhereItCorrects(t *testing.T) {
	next := func(text string) string {
		documents := documentsIn(t, "a.yaml", text)
		_, faults := validate.Decode(documents[0].body)
		require.NotEmpty(t, faults)
		return failureOf(describeFaults(&api.Failure{Code: api.CodeInvalid, Faults: faults}, documents, &source{files: []string{"a.yaml"}}, true)).Next
	}
	run := "apiVersion: flotilla.io/v1alpha1\nkind: UpdateRun\nmetadata: {name: r}\nspec: {upgrade: {type: Full, kubernetesVersion: %s}}\n"
	require.Equal(t, "flotilla correct -f a.yaml", next(fmt.Sprintf(run, "1.30")))
	require.Equal(t, "flotilla explain run.spec.upgrade.kubernetesVersion", next(fmt.Sprintf(run, "newest")))
}

func documentsIn(t *testing.T, file, text string) []document {
	t.Helper()
	read, err := configs.Parse(file, []byte(text))
	require.NoError(t, err)
	var documents []document
	for i := range read {
		documents = append(documents, document{ref: headOf(read[i].JSON), body: read[i].JSON, file: read[i]})
	}
	return documents
}

// TestManyFaultsAreCounted prints more faults than people are shown.
func TestManyFaultsAreCounted(t *testing.T) {
	f := &Failure{Message: "refused: 43 faults", All: "flotilla apply --dry-run=client -f a.yaml"}
	for i := range 43 {
		fault := strict.Fault{Path: fmt.Sprintf("spec.x%d", i), Found: "an unknown field", Expected: "another", Kind: strict.FaultUnknown}
		if i >= 40 {
			fault.Found, fault.Kind = "nothing", ""
		}
		f.Faults = append(f.Faults, fault)
	}
	var text, body strings.Builder
	f.print(&text)
	require.Equal(t, 20, strings.Count(text.String(), "    found     an unknown field\n"))
	require.Contains(t, text.String(), "  and 23 more; in all 40 unknown fields, 3 missing fields\n  every one: flotilla apply --dry-run=client -f a.yaml -o json\n")
	require.NoError(t, f.printJSON(&body))
	var back refusal
	require.NoError(t, json.Unmarshal([]byte(body.String()), &back))
	require.Len(t, back.Faults, 43)
	require.Equal(t, map[strict.FaultKind]int{strict.FaultUnknown: 40, strict.FaultMissing: 3}, back.Counts)
}

func TestMistakesOfConnectingHaveTheirOwnExitCodes(t *testing.T) {
	for err, want := range map[error]int{
		bus.ErrSetup: ExitUsage, bus.ErrDenied: ExitUsage, bus.ErrUnreachable: ExitUnreachable, errors.New("else"): ExitUnreachable,
	} {
		f := notConnected(fmt.Errorf("connecting: %w", err), "shop")
		require.Equal(t, want, f.Code, err)
		require.NotEmpty(t, f.Next)
	}
	require.Contains(t, interrupted(api.VerbApply, "nats://a").Message, "may have been done")
	require.NotContains(t, interrupted(api.VerbGet, "nats://a").Message, "may have been done")
}

func TestARolloutThatEndsEarlySaysHow(t *testing.T) {
	over, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	broken, interrupt := context.WithCancel(t.Context())
	interrupt()
	r := ref{resourceKind: kindOfObject(placementVersion, api.KindClusterResourcePlacement), name: "web"}
	stalled := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"reason": "ProgressDeadlineExceeded", "message": "no member has advanced for 10m; held up by oslo",
	}}}}}
	for name, c := range map[string]struct {
		err  error
		code int
		text string
	}{
		"no answer":  {rolloutTimeout(over, r, time.Second, ""), ExitUnreachable, "no hub answered about placement/web within 1s"},
		"time is up": {rolloutTimeout(over, r, time.Second, "placement/web: 1 of 2"), ExitTimedOut, "placement/web is not done after 1s: 1 of 2"},
		"unanswered": {rolloutTimeout(broken, r, 0, ""), ExitTimedOut, "interrupted before the hub said how far placement/web is"},
		"interrupted": {
			rolloutTimeout(broken, r, time.Hour, "placement/web: 1 of 2"), ExitTimedOut,
			"interrupted, placement/web: 1 of 2; the rollout goes on without this command",
		},
		"stuck": {stuck(r, stalled), ExitPartial, "placement/web stands still: no member has advanced for 10m; held up by oslo"},
	} {
		f := failureOf(c.err)
		require.Equal(t, c.code, f.Code, name)
		require.Equal(t, c.text, f.Message, name)
		require.NotEmpty(t, f.Next, name)
	}
}

// A wait that a person interrupts says what goes on, not that a time is up.
func TestWaitsThatAreInterruptedSaySo(t *testing.T) {
	over, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	broken, interrupt := context.WithCancel(t.Context())
	interrupt()
	r := ref{resourceKind: kindOfObject(placementVersion, api.KindClusterResourcePlacement), name: "web"}
	wait := &waitOptions{condition: "condition=Available", timeout: time.Minute}
	follow := &statusOptions{watch: true, timeout: time.Minute}
	run := func(state api.UpdateState) *api.UpdateRun {
		out := &api.UpdateRun{Status: &api.UpdateRunStatus{Status: api.UpdateStatus{State: state}}}
		out.Name = "spring"
		return out
	}
	for want, err := range map[string]error{
		"timed out after 1m0s waiting for condition=Available on placement/web: found False":                                              wait.ended(over, r, "False"),
		"interrupted while waiting for condition=Available on placement/web: found False; what is under way goes on without this command": wait.ended(broken, r, "False"),
		"run spring has not ended after 1m0s: it is Running":                                                                              follow.ended(over, run(api.StateRunning)),
		"interrupted: run spring is Running, and goes on without this command":                                                            follow.ended(broken, run(api.StateRunning)),
		"interrupted: run spring is NotStarted":                                                                                           follow.ended(broken, run(api.StateNotStarted)),
		"interrupted: run  is not looked at yet":                                                                                          follow.ended(broken, &api.UpdateRun{}),
	} {
		f := failureOf(err)
		require.Equal(t, ExitTimedOut, f.Code)
		require.Equal(t, want, f.Message)
		require.NotEmpty(t, f.Next)
	}
}

func TestObjectsOfEventsAreShownAsTheyAreTyped(t *testing.T) {
	for object, want := range map[string]string{
		"placement/web": "placement/web", "member/berlin": "member/berlin", "placement/shop/web": "rp/web -n shop",
		"object/Deployment/shop/web": "deployment/web -n shop", "object/Namespace/shop": "namespace/shop",
	} {
		require.Equal(t, want, typed(object))
	}
}

// agentsHub is a hub that was reached at a URL.
type agentsHub struct {
	Hub
	url string
}

func (h agentsHub) URL() string { return h.url }

func TestAgentsAreSentWhereTheOperatorReachedTheServer(t *testing.T) {
	a := &app{hub: agentsHub{url: "nats://hub.example:4222"}}
	for told, want := range map[string]string{
		"":                      "nats://hub.example:4222",
		"nats://0.0.0.0:4222":   "nats://hub.example:4222",
		"nats://127.0.0.1:4222": "nats://hub.example:4222",
		"nats://10.1.2.3:4222":  "nats://10.1.2.3:4222",
		"nats://broker:4222":    "nats://broker:4222",
		"nats://localhost:4222": "nats://hub.example:4222",
		"nats://127.0.0.1:4222,nats://broker:4222": "nats://127.0.0.1:4222,nats://broker:4222",
	} {
		require.Equal(t, want, a.agentURL(told), told)
	}
	a.hub = nil
	require.Equal(t, "nats://127.0.0.1:4222", a.agentURL("nats://127.0.0.1:4222"))
}
