package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flotilla/bus"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/configs"
	"flotilla/configs/files"
	"flotilla/configs/memory"
	"flotilla/configs/secrets"
	"flotilla/configs/terminal"
	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/hub/gauger"
	"flotilla/hub/hubd"
)

func command() *cobra.Command {
	config := configs.DefaultHub()
	var file string
	c := &cobra.Command{
		Use:   "hub",
		Short: "The hub of a Flotilla fleet",
		Long: `The hub of a fleet. It runs a NATS server of its own in --data, or connects to one that others run (--url, --creds,
--context, completed from NATS_URL, NATS_CREDS, NATS_CONTEXT). --dev, --data, --host and --port ask for a server of its
own whatever the environment says. Interrupt stops it at once; SIGTERM sends its clients away first.`,
		Example: `  hub --dev
  hub --data /var/lib/flotilla --host 0.0.0.0 --tls-self-signed
  hub --config configs/hub.yaml
  hub --url nats://n1,nats://n2,nats://n3 --accounts accounts`,
		Version: api.Version, Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
	}
	// The file is read before the flags are, so that they win over it.
	c.PreRunE = func(c *cobra.Command, _ []string) error { return load(c, file, &config) }
	c.RunE = func(c *cobra.Command, _ []string) error {
		now, err := terminal.Clock()
		if err != nil {
			return err
		}
		if config.Dev {
			quieten(c, &config)
		}
		log := terminal.Logger(config.Log, c.ErrOrStderr())
		terminal.TellClock(log)
		memory.Keep(config.MemoryLimit, log)
		for _, text := range config.Notes() {
			log.Warn().Msg(text)
		}
		if config.Dev {
			return runDev(c.Context(), &config, now, log, c.OutOrStdout())
		}
		getenv := environment(c)
		o := options(&config, log, getenv)
		o.Now = now
		if o.Server != nil && o.Accounts != "" {
			return errors.New("found --accounts without servers that others run, expected both: name them with --url, or NATS_URL")
		}
		if err := shorten(&o.Lead); err != nil {
			return err
		}
		err = run(c.Context(), o, c.OutOrStdout())
		return ownInstead(err, &config, getenv)
	}
	c.SetFlagErrorFunc(terminal.SuggestFlag)
	s := c.Flags()
	s.StringVar(&file, "config", "", "configuration file; flags win over it")
	s.BoolVar(&config.Dev, "dev", config.Dev, "run eight members in memory beside the hub")
	s.StringVar(&config.Fleet, "fleet", config.Fleet, "name of the fleet, a DNS label")
	s.DurationVar((*time.Duration)(&config.MemberTimeout), "member-timeout", time.Duration(config.MemberTimeout), "how long a member may be silent before it is Unknown")
	s.DurationVar((*time.Duration)(&config.DeletionTimeout), "deletion-timeout", time.Duration(config.DeletionTimeout), "how long a deletion waits for members to confirm")
	s.StringVar(&config.Secrets, "secrets", config.Secrets, "file of mode 0600 with the secrets that content is sealed with (default $FLOTILLA_SECRETS, or DATA/secrets.json)")
	s.StringVar(&config.SecretsCommand, "secrets-command", config.SecretsCommand, "command that prints what would stand in that file")
	s.StringVar(&config.MemoryLimit, "memory-limit", config.MemoryLimit, "memory that the process keeps to, like 2Gi; 0: none (default $GOMEMLIMIT, or nine tenths of what its cgroup allows)")
	s.StringVar(&config.RecordsLimit, "records-limit", config.RecordsLimit, "what all records may take in memory, like 2Gi; 0: no limit (default 2Gi, or half of what the process keeps to)")
	s.StringVar(&config.MetricsAddress, "metrics-address", config.MetricsAddress, "serve /metrics, /healthz and /readyz at HOST:PORT")
	s.StringVar(&config.Page.Address, "page", config.Page.Address, "serve the page at HOST:PORT (with --dev 127.0.0.1:8480, or any free port)")
	s.StringVar(&config.Kubernetes.Address, "kubernetes", config.Kubernetes.Address, "serve a Kubernetes API at HOST:PORT (with --dev 127.0.0.1:6443, or any free port)")
	s.StringVar(&config.Log.Level, "log-level", config.Log.Level, "trace, debug, info, warn or error")
	ownFlags(s, &config)
	streamFlags(s, &config)
	c.AddCommand(accountsCommand())
	return c
}

// ownFlags are about the NATS server in this process.
func ownFlags(s *pflag.FlagSet, config *configs.Hub) {
	s.StringVar(&config.DataDir, "data", config.DataDir, "data directory of the NATS server in this process")
	s.StringVar(&config.Listen.Host, "host", config.Listen.Host, "address that the NATS server listens on")
	s.IntVar(&config.Listen.Port, "port", config.Listen.Port, "port that the NATS server listens on; 0: any free one")
	s.StringVar(&config.Listen.TLS.Cert, "tls-cert", config.Listen.TLS.Cert, "certificate of the NATS server in this process, PEM; read anew when it changes")
	s.StringVar(&config.Listen.TLS.Key, "tls-key", config.Listen.TLS.Key, "key of --tls-cert, PEM")
	s.StringVar(&config.Listen.TLS.CA, "tls-ca", config.Listen.TLS.CA, "authority that signed --tls-cert, or the certificates of the servers of --url, PEM")
	s.BoolVar(&config.Listen.TLS.SelfSigned, "tls-self-signed", config.Listen.TLS.SelfSigned, "make an authority and a certificate in the data directory")
	s.StringArrayVar(&config.Listen.TLS.Names, "tls-name", config.Listen.TLS.Names, "name or address of a self-signed certificate beside those of the machine; may be repeated")
	s.StringVar(&config.Durability, "durability", config.Durability, "interval: fsync every second; always: before every acknowledgement")
	s.StringVar(&config.DiskReserve, "disk-reserve", config.DiskReserve, "free room below which nothing more is accepted, like 512Mi; 0: none (default 256Mi, or a fiftieth of what there is)")
}

// streamFlags are about servers that others run, and about streams wherever they are.
func streamFlags(s *pflag.FlagSet, config *configs.Hub) {
	s.StringVar(&config.Bus.URL, "url", config.Bus.URL, "URL of NATS servers that others run, comma separated")
	s.StringVar(&config.Bus.Creds, "creds", config.Bus.Creds, "credentials of the hub on NATS servers that others run")
	s.StringVar(&config.Bus.Context, "context", config.Bus.Context, "NATS context")
	s.StringVar(&config.Accounts, "accounts", config.Accounts, "folder of `hub accounts`: make and revoke credentials on servers that others run")
	s.BoolVar(&config.StrictServers, "strict-servers", config.StrictServers, "end where a NATS server is of a version that breaks what Flotilla promises")
	s.BoolVar(&config.ManageStreams, "manage-streams", config.ManageStreams, "make streams and buckets that are missing")
	s.IntVar(&config.Replicas, "replicas", config.Replicas, "copies of every stream; 0: 3 where the servers are a cluster of three or more, else 1")
	s.StringVar(&config.MemberShare.Results, "member-results", config.MemberShare.Results, "what one member may store of results")
	s.StringVar(&config.MemberShare.Events, "member-events", config.MemberShare.Events, "what one member may store of the states of its nodes")
	s.StringVar(&config.Streams.Results, "stream-results", config.Streams.Results, "size of the stream of all results")
	s.StringVar(&config.Streams.Events, "stream-events", config.Streams.Events, "size of the stream of all node states")
}

// load reads the configuration file, if any, puts the flags that were given over it, and checks all.
func load(c *cobra.Command, file string, config *configs.Hub) error {
	if file != "" {
		text, err := files.Read(file, files.Small)
		if err != nil {
			return fmt.Errorf("reading the configuration: %w", err)
		}
		given := changed(c)
		if *config, err = configs.LoadHub(file, text); err != nil {
			return err
		}
		for name, value := range given {
			if err := c.Flags().Set(name, value); err != nil {
				return fmt.Errorf("flag --%s: %w", name, err)
			}
		}
	}
	if err := ownAndOthers(c, config); err != nil {
		return err
	}
	return config.Validate().Err()
}

// ownAndOthers refuses flags about the hub's own NATS server when it is to use servers that others run, where
// they would do nothing.
func ownAndOthers(c *cobra.Command, config *configs.Hub) error {
	if config.Bus == (configs.Bus{}) {
		return nil
	}
	others := "the configuration's bus"
	for _, name := range []string{"url", "context", "creds"} {
		if c.Flags().Changed(name) {
			others = "--" + name
			break
		}
	}
	for _, name := range []string{"host", "port", "data", "tls-cert", "tls-key", "tls-self-signed", "tls-name"} {
		ofMembers := name == "data" && config.Dev // members in memory keep theirs there
		if c.Flags().Changed(name) && !ofMembers {
			return fmt.Errorf("found --%s beside %s, expected one of them: a hub that uses servers which others run has none of its own", name, others)
		}
	}
	return nil
}

// quieten lets a fleet of eight talk of trouble only, unless more was asked for.
func quieten(c *cobra.Command, config *configs.Hub) {
	if config.Log.Level == configs.DefaultHub().Log.Level && !c.Flags().Changed("log-level") {
		config.Log.Level = "warn"
	}
}

// changed are the flags that were given.
func changed(c *cobra.Command) map[string]string {
	given := map[string]string{}
	c.Flags().Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
	return given
}

// environment is what the hub reads where its servers are from: nothing when a flag asks for a server
// of its own.
func environment(c *cobra.Command) func(string) string {
	for _, name := range []string{"data", "host", "port"} {
		if c.Flags().Changed(name) {
			return func(string) string { return "" }
		}
	}
	return os.Getenv
}

// ownInstead adds to why servers could not be used how to do without them, where the environment alone named
// them: it may be meant for the command line.
func ownInstead(err error, config *configs.Hub, getenv func(string) string) error {
	refused := errors.Is(err, bus.ErrSetup) || errors.Is(err, bus.ErrDenied) || errors.Is(err, bus.ErrUnreachable)
	if !refused || config.Bus != (configs.Bus{}) || !config.External(getenv) {
		return err
	}
	return fmt.Errorf("%w; NATS_URL or NATS_CONTEXT in the environment has the hub use servers that others run: "+
		"unset them for a server of its own in %s, or name it with --data", err, config.DataDir)
}

// bytesOf is an amount that was checked.
func bytesOf(text string) int64 {
	bytes, _ := configs.ParseSize(text)
	return bytes
}

// recordsLimit is what all records may take in memory, negative for no limit: an amount that was checked, or else half of what the
// process keeps to, at most the default.
func recordsLimit(text string) int64 {
	return cmp.Or(bytesOf(text), min(gauger.DefaultRecords, memory.Kept()/2))
}

// secretsOf is where the hub's secrets come from: its configuration, or else the environment.
func secretsOf(config *configs.Hub) secrets.Source {
	source := secrets.Source{File: config.Secrets, Command: config.SecretsCommand}
	if !source.Given() {
		source.Text = os.Getenv(secrets.Variable)
	}
	return source
}

// options are the hub's, from its configuration.
func options(config *configs.Hub, log zerolog.Logger, getenv func(string) string) hubd.Options {
	reserve, _ := configs.ParseSize(config.DiskReserve) // was checked
	o := hubd.Options{
		Fleet: config.Fleet, Issuing: hubd.Issuing{Accounts: config.Accounts}, Disk: hubd.Disk{Reserve: reserve, Records: recordsLimit(config.RecordsLimit)},
		Secrets: secretsOf(config), Metrics: config.MetricsAddress,
		Page: hubd.Page{Site: hubd.Site{
			Address: config.Page.Address, URL: config.Page.URL, Hosts: config.Page.Hosts, Cert: config.Page.TLS.Cert, Key: config.Page.TLS.Key,
		}},
		Front: frontOf(&config.Kubernetes),
		Policy: hubd.Policy{
			StrictServers: config.StrictServers,
			MemberTimeout: time.Duration(config.MemberTimeout), DeleteTimeout: time.Duration(config.DeletionTimeout),
			Withdrawals:       guard.Bounds{Percent: config.Withdrawals.Percent, Count: config.Withdrawals.Count},
			SkippedNamespaces: config.SkippedNamespaces, Disruption: config.Disruption, Checks: config.Checks,
		},
		Notifications: config.Notifications, Log: log,
		Lead: store.LeadOptions{Layout: streams.LayoutOptions{
			Unmanaged: !config.ManageStreams, Durability: config.Durability, Replicas: config.Replicas,
			Share:       bus.Share{Results: bytesOf(config.MemberShare.Results), Events: bytesOf(config.MemberShare.Events)},
			ResultBytes: bytesOf(config.Streams.Results), EventBytes: bytesOf(config.Streams.Events),
		}},
		Bus: bus.Options{
			URL: config.Bus.URL, Creds: config.Bus.Creds, Context: config.Bus.Context, CA: cmp.Or(config.Bus.TLS.CA, config.Listen.TLS.CA),
		},
	}
	if !config.External(getenv) {
		o.Server = &server.Options{
			Dir: config.DataDir, Host: config.Listen.Host, Port: config.Listen.Port, Durability: config.Durability,
			TLS: server.TLS(config.Listen.TLS),
		}
		if config.Listen.Port == 0 {
			o.Server.Port = -1
		}
	}
	return o
}
