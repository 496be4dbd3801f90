package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/hub/dev"
	"flotilla/hub/flotilla/cli/session"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

// TestLive runs the scripts that need a hub, each against a fleet of its own: a hub with an embedded
// server and three members in memory that are not admitted yet.
func TestLive(t *testing.T) {
	runScripts(t, "live", func(t *testing.T) *runner {
		return &runner{env: liveEnvironment(startFleet(t)), mask: maskLive}
	})
}

// TestViewer runs the scripts of somebody who may only look.
func TestViewer(t *testing.T) {
	runScripts(t, "viewer", func(t *testing.T) *runner {
		fleet := startFleet(t)
		creds, _, err := fleet.Hub.Server().PersonCreds("vera", api.RoleViewer, time.Hour)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "vera.creds")
		require.NoError(t, os.WriteFile(path, creds, 0o600))
		env := liveEnvironment(fleet)
		admin := env.Getenv
		env.Getenv = func(name string) string {
			if name == "NATS_CREDS" {
				return path
			}
			return admin(name)
		}
		return &runner{env: env, mask: maskLive}
	})
}

// TestWeb runs the scripts that need a hub with a page and a Kubernetes API.
func TestWeb(t *testing.T) {
	runScripts(t, "web", func(t *testing.T) *runner {
		env := liveEnvironment(startFleet(t, func(o *hubd.Options) {
			o.Page.Address, o.Front.Address = "127.0.0.1:0", "127.0.0.1:0"
			o.Page.New = func(hubd.PageOptions) (http.Handler, error) { return http.NotFoundHandler(), nil }
			o.Front.New = func(hubd.FrontOptions) (http.Handler, error) { return http.NotFoundHandler(), nil }
		}))
		env.Program = func() (string, error) { return "/usr/local/bin/flotilla", nil }
		return &runner{env: env, mask: maskLive}
	})
}

// liveEnvironment is that of an operator of the fleet.
func liveEnvironment(fleet *dev.Fleet) session.Environment {
	env := session.OSEnvironment(elsewhen.Now)
	env.Getenv = func(name string) string {
		switch name {
		case "NATS_URL":
			return fleet.Hub.Server().URL()
		case "NATS_CREDS":
			return fleet.Hub.Server().OperatorCreds()
		}
		return ""
	}
	env.Terminal, env.Cache = false, ""
	env.Edit = replaceInFile
	return env
}

func startFleet(t *testing.T, change ...func(*hubd.Options)) *dev.Fleet {
	t.Helper()
	hub := hubd.Options{Now: elsewhen.Now, Fleet: "default", Server: &server.Options{Dir: t.TempDir(), Port: -1, Log: zerolog.Nop()}, Log: zerolog.Nop()}
	for _, f := range change {
		f(&hub)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	fleet, err := dev.Start(ctx, dev.Options{
		Hub: hub,
		Members: []configs.Agent{
			member("berlin", "eu", "8", 3),
			member("oslo", "eu", "4", 6),
			member("tampa", "us", "16", 9),
		},
		Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Stop()) })
	bustest.Eventually(t, func() error {
		var page api.ListResponse
		err := bus.Request(ctx, fleet.Client, api.VerbList, api.ListRequest{Kind: api.KindMemberCluster}, &page, bus.RequestOptions{})
		if err == nil && len(page.Items) < 3 {
			return fmt.Errorf("%d members heartbeat", len(page.Items))
		}
		return err
	})
	return fleet
}

// faultsOf are what goes wrong on members: the first attempt to upgrade tampa fails.
var faultsOf = map[string][]string{"tampa": {"fail-upgrade=any@1"}}

func member(name, region, cpu string, nodes int) configs.Agent {
	c := configs.DefaultAgent()
	c.Member = name
	c.Labels = map[string]string{"region": region}
	c.Target.Memory.KubernetesVersion = "v1.33.1"
	c.Target.Memory.Faults = faultsOf[name]
	c.Upgrade.Memory.ControlPlane, c.Upgrade.Memory.NodePool = configs.Duration(20*time.Millisecond), configs.Duration(20*time.Millisecond)
	c.Target.Memory.Nodes = []configs.Nodes{{Name: name, Count: nodes, CPU: cpu, Memory: "16Gi"}}
	return c
}

// replaceInFile is the editor of the scripts: it writes 2 for 3 members.
func replaceInFile(_ context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "numberOfClusters: 3", "numberOfClusters: 2")), 0o600)
}

// masks replace what differs from run to run. Ages take columns of differing width, so runs of spaces
// are made equal first.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?s)-----BEGIN NATS USER JWT-----.*------END USER NKEY SEED------`), "CREDENTIALS"},
	{regexp.MustCompile(`\b\d+ (records|bodies|bytes)\b`), "N $1"},
	{regexp.MustCompile(`\bsecret [0-9a-f]{12}\b`), "secret NAME"},
	{regexp.MustCompile(`(?m)^placement/\S+: (\d|waiting).*\n`), ""}, // how far a rollout is on the way
	{regexp.MustCompile(`([^ \n]) {2,}`), "$1  "},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`\border \d+\.\d+\.\d+`), "order ORDER"},
	{regexp.MustCompile(`(?m)^(  [a-z]+  (?:by )?TIME)  [\dms.]+  `), "$1  SPAN  "},
	{regexp.MustCompile(`(?m)^([a-z]+  \d+)(?:  [\dms.]*[ms]){3}  \S+$`), "$1  SPANS  MEMBER"},
	{regexp.MustCompile(`\b(took|on its way for) [\dms.]+`), "$1 SPAN"},
	{regexp.MustCompile(`\b(cli-)?[A-Z2-7]{26}\b`), "REQUEST"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?Z`), "MOMENT"},
	{regexp.MustCompile(`\b(in|for) \d+(ms|s|m|h|d)\b`), "$1 AGE"},
	{regexp.MustCompile(`(?m)(^|  )\d+(ms|s|m)( |$)`), "${1}AGE$3"},
	{regexp.MustCompile(`(?i)(resource ?version"?: *"?)\d+\.\d+`), "${1}VERSION"},
	{regexp.MustCompile(`\b\d+\.\d+, which is current`), "VERSION, which is current"},
	{regexp.MustCompile(`\bterm \d+`), "term TERM"},
	{regexp.MustCompile(`\d+\.\d\d minutes`), "N minutes"},
	{regexp.MustCompile(`\d+s ago`), "AGE ago"},
	{regexp.MustCompile(`127\.0\.0\.1:\d{4,5}/enter\?link=[\w-]{43}\b`), "127.0.0.1:PORT/enter?link=SECRET"},
	{regexp.MustCompile(`flotilla_[\w-]{43}\b`), "TOKEN"},
	{regexp.MustCompile(`https://127\.0\.0\.1:\d{4,5}`), "https://127.0.0.1:PORT"},
	{regexp.MustCompile(`(certificate-authority-data:) \S+`), "$1 AUTHORITY"},
	{regexp.MustCompile(`(value:) \S+/(operator\.creds)`), "$1 DATA/$2"},
	{regexp.MustCompile(`nats://127\.0\.0\.1:\d{4,5}`), "nats://127.0.0.1:PORT"},
}

func maskLive(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return text
}
