// Command agent stands beside one member and makes it hold what the hub wants there.
//
//	agent --token @berlin.token
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // authorities, in images that hold nothing else

	"flotilla/agent/agentd"
	"flotilla/agent/pod"
	"flotilla/agent/target/memory/faults"
	"flotilla/agent/upgrader/command"
	"flotilla/bus/clientlog"
	"flotilla/bus/member"
	"flotilla/configs"
	"flotilla/configs/files"
	"flotilla/configs/memory"
	"flotilla/configs/terminal"
	"flotilla/core/api"
	"flotilla/core/validate"
)

func main() {
	if command.Supervise() {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once, also while it reads a token
	if err := new(flags).command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		stop()
		os.Exit(1)
	}
}

// flags are what the command line may say; what it does not say is the configuration file's.
type flags struct {
	config, member, token, fleet, data, logLevel, metrics, memory string
	connection
	whereabouts
	labels, properties map[string]string
	faults, upgrade    []string
	interval           time.Duration
}

// connection is how NATS is reached, and as whom.
type connection struct{ url, creds, ca, context string }

// whereabouts are where the member is.
type whereabouts struct {
	location, resourceGroup, subscription, kubeconfig, kubeContext, cluster string
	shared                                                                  bool
}

func (f *flags) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "agent --token @FILE",
		Short: "The agent of one member of a Flotilla fleet",
		Long: `The agent of one member: it reports how the member does and makes it hold what the hub places there.
It makes a key of its own, which never leaves --data (in a pod, a Secret of the pod's namespace), and trades a token
for credentials once; from then on --member NAME is enough. It dials out to NATS where the token says, or --url. Where others make the credentials
of agents, --creds, --context, NATS_URL, NATS_CREDS and NATS_CONTEXT name them.

The member is the Kubernetes cluster that --kubeconfig names; without it, in a pod, the cluster of the pod, and elsewhere
one in memory. To break one in memory while the agent runs, write faults into the file "faults" of the data directory (` + faults.Forms + `);
remove the file to mend it.`,
		Example: `  flotilla member enrol berlin > berlin.token
  agent --token @berlin.token
  flotilla member admit berlin
  echo down > flotilla-agent/berlin/faults`,
		Version:       api.Version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.load(c)
			if err != nil {
				return err
			}
			if o.Supervisor, err = os.Executable(); err != nil {
				return fmt.Errorf("finding the agent's own program: %w", err)
			}
			if o.Now, err = terminal.Clock(); err != nil {
				return err
			}
			if o.Reconnect.Wait, err = terminal.Rehearsal(terminal.Reconnect); err != nil {
				return err
			}
			o.Reconnect.Jitter = o.Reconnect.Wait
			o.Log = terminal.Logger(o.Config.Log, os.Stderr)
			clientlog.Into(o.Log)
			terminal.TellClock(o.Log)
			memory.Keep(o.Config.MemoryLimit, o.Log)
			return agentd.Run(c.Context(), o)
		},
	}
	c.SetFlagErrorFunc(terminal.SuggestFlag)
	s := c.Flags()
	s.StringVar(&f.config, "config", "", "configuration file; flags win over it")
	s.StringVar(&f.member, "member", "", "name of the member, a DNS label")
	s.StringVar(&f.token, "token", "", "@ and the path of a file with what \"flotilla member enrol\" printed, or - for standard input; given as text it stands in the list of processes")
	s.StringVar(&f.fleet, "fleet", "", "name of the fleet (default that of the token, or \"default\")")
	s.StringVar(&f.url, "url", "", "URL of the NATS servers, comma separated")
	s.StringVar(&f.creds, "creds", "", "credentials of the member's agent, where others make them")
	s.StringVar(&f.context, "context", "", "NATS context")
	s.StringVar(&f.ca, "tls-ca", "", "authority of the servers' certificates, PEM (default $NATS_CA)")
	s.StringVar(&f.data, "data", "", "data directory (default \"flotilla-agent/MEMBER\")")
	s.StringToStringVar(&f.labels, "label", nil, "label to offer, KEY=VALUE; may be repeated")
	s.StringToStringVar(&f.properties, "property", nil, "property to report, NAME=VALUE; may be repeated")
	s.StringVar(&f.location, "location", "", "location, for the label "+api.LabelLocation)
	s.StringVar(&f.resourceGroup, "resource-group", "", "resource group, for the label "+api.LabelResourceGroup)
	s.StringVar(&f.subscription, "subscription-id", "", "subscription, for the label "+api.LabelSubscriptionID)
	s.DurationVar(&f.interval, "heartbeat-interval", 0, "time between heartbeats (default 15s)")
	s.StringVar(&f.kubeconfig, "kubeconfig", "", "the member is the Kubernetes cluster that this file names")
	s.StringVar(&f.kubeContext, "kube-context", "", "context of the kubeconfig (default its current one)")
	s.StringVar(&f.cluster, "cluster", "", "uid of the namespace kube-system of the cluster, where the member was made anew (default that of the cluster before)")
	s.BoolVar(&f.shared, "shared-cluster", false, "agents of other fleets work on the cluster too: do not look whose member it is")
	s.StringArrayVar(&f.faults, "fault", nil, "fault of the member in memory: "+faults.Forms+"; may be repeated")
	s.StringArrayVar(&f.upgrade, "upgrade-command", nil, "command that upgrades the member, see upgrade.exec in configs/agent.yaml; may be repeated, once for each argument")
	s.StringVar(&f.logLevel, "log-level", "", "trace, debug, info, warn or error (default \"info\")")
	s.StringVar(&f.memory, "memory-limit", "", "memory that the process keeps to, like 256Mi; 0: none (default $GOMEMLIMIT, or nine tenths of what its cgroup allows)")
	s.StringVar(&f.metrics, "metrics-address", "", "serve /metrics, /healthz and /readyz at HOST:PORT")
	return c
}

// load reads the configuration file, if any, puts the flags over it, and finds the token, if any, and the pod.
func (f *flags) load(c *cobra.Command) (agentd.Options, error) {
	o := agentd.Options{Config: configs.DefaultAgent()}
	config := &o.Config
	if f.config != "" {
		text, err := files.Read(f.config, files.Small)
		if err != nil {
			return o, fmt.Errorf("reading the configuration: %w", err)
		}
		if *config, err = configs.LoadAgent(f.config, text); err != nil {
			return o, err
		}
	}
	f.over(c, config)
	var err error
	if o.Pod, err = pod.Find(config.Pod.ServiceAccount, os.Getenv); err != nil {
		return o, err
	}
	f.warnOfToken(c)
	o.Token, err = readToken(config.Token, c.InOrStdin())
	return o, identify(&o, err)
}

// identify finds out whose agent this is: what --member says, the token, or what the agent enrolled for. A token that is
// gone, which missing is then about, was used by an agent that has enrolled.
func identify(o *agentd.Options, missing error) error {
	config, folder := &o.Config, configs.DefaultAgent().DataDir
	isDefault := config.DataDir == folder
	settle := func(member string) {
		config.Member = cmp.Or(config.Member, member)
		if isDefault && config.Member != "" {
			config.DataDir = filepath.Join(folder, config.Member)
		}
	}
	switch {
	case missing != nil && !errors.Is(missing, fs.ErrNotExist):
		return missing
	case o.Token != nil:
		settle(o.Token.Member)
		return nil
	}
	settle("")
	if config.Member != "" && missing == nil {
		return nil
	}
	vault, err := agentd.Vault(config, o.Pod)
	if err != nil {
		return err
	}
	enrolled, err := member.Enrolled(vault)
	switch {
	case err != nil:
		return err
	case enrolled == "" && missing != nil:
		return fmt.Errorf("%w, and %s is that of none; the agent of a member that has enrolled is found by --member or --data, without a token", missing, vault)
	}
	settle(enrolled)
	return nil
}

// over puts what the command line says over the configuration.
func (f *flags) over(c *cobra.Command, config *configs.Agent) {
	for _, set := range []struct {
		flag string
		to   *string
		from string
	}{
		{"member", &config.Member, f.member},
		{"token", &config.Token, f.token},
		{"fleet", &config.Fleet, f.fleet},
		{"url", &config.Bus.URL, f.url},
		{"creds", &config.Bus.Creds, f.creds},
		{"context", &config.Bus.Context, f.context},
		{"tls-ca", &config.Bus.TLS.CA, f.ca},
		{"data", &config.DataDir, f.data},
		{"location", &config.Location, f.location},
		{"resource-group", &config.ResourceGroup, f.resourceGroup},
		{"subscription-id", &config.SubscriptionID, f.subscription},
		{"kubeconfig", &config.Target.Kubernetes.Kubeconfig, f.kubeconfig},
		{"kube-context", &config.Target.Kubernetes.Context, f.kubeContext},
		{"cluster", &config.Target.Kubernetes.Cluster, f.cluster},
		{"log-level", &config.Log.Level, f.logLevel},
		{"metrics-address", &config.MetricsAddress, f.metrics},
		{"memory-limit", &config.MemoryLimit, f.memory},
	} {
		if c.Flags().Changed(set.flag) {
			*set.to = set.from
		}
	}
	if c.Flags().Changed("kubeconfig") || c.Flags().Changed("kube-context") {
		config.Target.Type = configs.TargetKubernetes
	}
	config.Labels = over(config.Labels, f.labels)
	config.Properties = over(config.Properties, f.properties)
	config.Target.Memory.Faults = append(config.Target.Memory.Faults, f.faults...)
	if len(f.upgrade) > 0 {
		config.Upgrade.Driver, config.Upgrade.Exec.Command = configs.DriverExec, f.upgrade
	}
	if c.Flags().Changed("shared-cluster") {
		config.Target.Kubernetes.Shared = f.shared
	}
	if c.Flags().Changed("heartbeat-interval") {
		config.HeartbeatInterval = configs.Duration(f.interval)
	}
}

// fromInput is what --token says for standard input.
const fromInput = "-"

// warnOfToken says that a token of the command line is read by others, and how to give it instead.
func (f *flags) warnOfToken(c *cobra.Command) {
	if !c.Flags().Changed("token") || f.token == "" || f.token == fromInput || strings.HasPrefix(f.token, "@") {
		return
	}
	_, _ = fmt.Fprintln(c.ErrOrStderr(), "agent: warning: the token of --token stands in the list of processes, which every user of the machine reads: "+
		"name a file that holds it, --token @FILE, or give it on standard input, --token -")
}

// readToken reads a token: the file that holds it behind an @, a line of standard input for -, or the text itself; nil when
// there is none.
func readToken(text string, input io.Reader) (*api.Token, error) {
	if text == "" {
		return nil, nil
	}
	if path, ok := strings.CutPrefix(text, "@"); ok {
		read, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
		text = string(read)
	}
	if text == fromInput {
		line, err := bufio.NewReader(io.LimitReader(input, api.MaxToken+1)).ReadString('\n')
		if line == "" && errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("token: found nothing on standard input: %w", fs.ErrNotExist)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("token: reading standard input: %w", err)
		}
		text = line
	}
	token, err := validate.Token(text)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	return &token, nil
}

func over(base, more map[string]string) map[string]string {
	if len(more) == 0 {
		return base
	}
	out := map[string]string{}
	maps.Copy(out, base)
	maps.Copy(out, more)
	return out
}
