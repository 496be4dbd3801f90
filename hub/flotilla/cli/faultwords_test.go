package cli

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/core/api"
)

func TestFaultsNameTheFileAndTheCommandThatMendsIt(t *testing.T) {
	documents := []document{
		{origin: "a.yaml, line 1", ref: api.ObjectRef{Kind: "ConfigMap"}},
		{origin: "b.yaml, line 9", ref: api.ObjectRef{Kind: "Secret", Name: "key"}},
	}
	refused := func() *api.Failure {
		return &api.Failure{
			Code: api.CodeInvalid, Message: nothingApplied + "2 faults", Next: hubsNext,
			Faults: api.Faults{{Object: "document 1"}, {Object: "Secret/key"}, {Object: "ConfigMap"}},
		}
	}
	f := failureOf(describeFaults(refused(), documents, &source{files: []string{"a.yaml", "b.yaml"}}, false))
	require.Equal(t, "refused: 2 faults", f.Message)
	require.Equal(t, "flotilla correct -f a.yaml -f b.yaml", f.Next)
	require.Equal(t, []string{"ConfigMap (a.yaml, line 1)", "Secret/key (b.yaml, line 9)", "ConfigMap (a.yaml, line 1)"},
		[]string{f.Faults[0].Object, f.Faults[1].Object, f.Faults[2].Object})

	f = failureOf(describeFaults(refused(), documents, &source{files: []string{"-"}}, true))
	require.Equal(t, nothingApplied+"2 faults", f.Message, "an apply says so")
	require.Empty(t, f.Next, "standard input cannot be read again")

	f = failureOf(notChanged(refused(), "flotilla describe member/berlin"))
	require.Equal(t, "nothing was changed: 2 faults", f.Message)
	require.Equal(t, "flotilla describe member/berlin", f.Next)
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
	r := ref{resourceKind: kindOfObject(placementVersion, api.KindClusterResourcePlacement), name: "web"}
	for name, c := range map[string]struct {
		err  error
		code int
		text string
	}{
		"no answer":   {rolloutTimeout(r, time.Second, ""), ExitUnreachable, "no hub answered about placement/web within 1s"},
		"time is up":  {rolloutTimeout(r, time.Second, "placement/web: 1 of 2"), ExitTimedOut, "placement/web is not done after 1s: 1 of 2"},
		"interrupted": {rolloutTimeout(r, 0, ""), ExitTimedOut, "interrupted, placement/web: the hub has not answered yet"},
		"stuck":       {stuck(r, "placement/web: 1 failed"), ExitPartial, "placement/web fails and has not moved for 1m0s: 1 failed"},
	} {
		f := failureOf(c.err)
		require.Equal(t, c.code, f.Code, name)
		require.Equal(t, c.text, f.Message, name)
		require.NotEmpty(t, f.Next, name)
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
	} {
		require.Equal(t, want, a.agentURL(told), told)
	}
	a.hub = nil
	require.Equal(t, "nats://127.0.0.1:4222", a.agentURL("nats://127.0.0.1:4222"))
}
