package member

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/configs/kubernetes"
	"flotilla/core/api"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/session"
)

type manifestOptions struct {
	image, namespace, agentURL string
	tolerations                []string
	nodeSelector               map[string]string
	expires                    time.Duration
}

func (a commands) memberManifestCommand() *cobra.Command {
	o := &manifestOptions{}
	cmd := &cobra.Command{
		Use:   "manifest NAME",
		Short: "Print what to apply to a Kubernetes cluster so that it becomes a member",
		Long: `Print what to apply to a Kubernetes cluster so that it becomes a member: its agent, with the permissions that it needs
and a token with which it enrols, once. Whoever has the file until then can enrol in its place.`,
		Example: `  flotilla member manifest berlin --agent-url nats://hub.example.com:4222 --image registry.example.com/flotilla-agent:v1 > berlin.yaml
  flotilla member manifest oslo --agent-url nats://hub.example.com:4222 --toleration node-role.kubernetes.io/control-plane:NoSchedule > oslo.yaml`,
		Args: oneName,
		RunE: a.Do(func(ctx context.Context, args []string) error { return a.manifest(ctx, o, args[0]) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.image, "image", "", "image of the agent (default \"flotilla-agent\")")
	f.StringVarP(&o.namespace, "namespace", "n", kubernetes.DefaultNamespace, "namespace of the agent; another than this has to be there")
	f.StringVar(&o.agentURL, "agent-url", "", "where the agent reaches the hub's NATS servers (default where this command does)")
	f.StringArrayVar(&o.tolerations, "toleration", nil, "taint that the agent tolerates, KEY[=VALUE][:EFFECT]; may be repeated")
	f.StringToStringVar(&o.nodeSelector, "node-selector", nil, "label of the nodes that the agent may run on, KEY=VALUE; may be repeated")
	expiresFlag(cmd, &o.expires)
	return cmd
}

func (a commands) manifest(ctx context.Context, o *manifestOptions, member string) error {
	a.Machine = true
	values, err := o.values()
	if err != nil {
		return err
	}
	request := api.EnrolRequest{Name: member, Life: metav1.Duration{Duration: o.expires}}
	servers, err := a.servers(ctx, o, request)
	if err != nil {
		return err
	}
	reply, err := a.enrol(ctx, request)
	if err != nil {
		return err
	}
	if strings.HasPrefix(reply.Token.URL, overTLS) && servers != api.OverTLS(servers) {
		servers = api.OverTLS(servers)
		a.Note("the servers speak TLS, so the agent is sent to %s; to a leaf node without TLS its bus.url leads", servers)
	}
	reply.Token.URL = servers
	values["token"] = reply.Token.String()
	files, err := kubernetes.Render(kubernetes.Agent, o.namespace, values)
	if err != nil {
		return err
	}
	a.Printf("# The agent of member %s in fleet %s. Its token may be used once, until %s: keep this file secret until then.\n%s",
		member, reply.Token.Fleet, reply.Ends.UTC().Format(time.RFC3339), kubernetes.Text(files))
	a.Note("apply it to the cluster that is to become %s, kubectl apply -f, and admit the member once its agent runs", member)
	a.Next("flotilla member admit %s", member)
	return nil
}

// servers are where the agent of a pod reaches the hub's. What leads it to the pod itself is refused before there is a
// token, unless somebody asked for it.
func (a commands) servers(ctx context.Context, o *manifestOptions, request api.EnrolRequest) (string, error) {
	if o.agentURL != "" {
		if local, err := loopback(o.agentURL); err == nil && local {
			a.Note("%s leads an agent in a pod to the pod itself, unless it shares the network of a machine that the hub runs on", o.agentURL)
		}
		return o.agentURL, nil
	}
	request.DryRun = true
	would, err := a.enrol(ctx, request)
	if err != nil {
		return "", err
	}
	local, err := loopback(would.Token.URL)
	if err == nil && local {
		f := session.Usagef("the servers are at %s, which leads an agent in a pod to the pod itself: say where it reaches them, --agent-url nats://HOST:PORT", would.Token.URL)
		f.Next = "flotilla member manifest --help"
		return "", f
	}
	return would.Token.URL, err
}

// values are those of the chart that differ from its own; the error names everything that is wrong.
func (o *manifestOptions) values() (map[string]any, error) {
	// Whoever deletes the file deletes its namespaces: none in which other things may be.
	values := map[string]any{"createNamespace": o.namespace == kubernetes.DefaultNamespace}
	if o.image != "" {
		values["image"] = o.image
	}
	if len(o.nodeSelector) > 0 {
		values["nodeSelector"] = o.nodeSelector
	}
	for _, f := range append(validate.MemberName("--namespace", o.namespace), validate.Labels("--node-selector", o.nodeSelector)...) {
		return nil, session.Usagef("%s: found %s, expected %s", f.Path, f.Found, f.Expected)
	}
	if o.agentURL != "" {
		if _, err := loopback(o.agentURL); err != nil {
			return nil, session.Usagef("--agent-url: %s", err)
		}
	}
	var tolerations []toleration
	for _, text := range o.tolerations {
		t, err := parseToleration(text)
		if err != nil {
			return nil, err
		}
		tolerations = append(tolerations, t)
	}
	if len(tolerations) > 0 {
		values["tolerations"] = tolerations
	}
	return values, nil
}

// toleration is one of a pod.
type toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
}

// parseToleration reads KEY[=VALUE][:EFFECT], as kubectl writes taints. Without a value any is tolerated, without an
// effect each.
func parseToleration(text string) (toleration, error) {
	rest, effect, hasEffect := strings.Cut(text, ":")
	key, value, equal := strings.Cut(rest, "=")
	t := toleration{Key: key, Operator: "Exists", Value: value, Effect: effect}
	if equal {
		t.Operator = "Equal"
	}
	effects := []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}
	if faults := validate.Labels("", map[string]string{key: value}); key == "" || len(faults) > 0 || hasEffect && !slices.Contains(effects, effect) {
		return t, session.Usagef("--toleration: found %q, expected KEY[=VALUE][:EFFECT] with one of the effects %s, like dedicated=fleet:NoSchedule", text, strings.Join(effects, ", "))
	}
	return t, nil
}

// loopback says whether an address of servers, comma separated, leads to the machine itself for all of them.
func loopback(servers string) (bool, error) {
	local := true
	for server := range strings.SplitSeq(servers, ",") {
		at, err := url.Parse(strings.TrimSpace(server))
		if err != nil || at.Hostname() == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, at.Scheme) {
			return false, fmt.Errorf("found %q, expected the URL of a NATS server, like nats://hub.example.com:4222", server)
		}
		ip := net.ParseIP(at.Hostname())
		local = local && (at.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsUnspecified()))
	}
	return local, nil
}
