package server_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"
)

func TestAPortThatIsTakenIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	port := taken.Addr().(*net.TCPAddr).Port
	dir := t.TempDir()
	_, err = server.Start(server.Options{Dir: dir, Port: port})
	require.ErrorContains(t, err, fmt.Sprintf("port %d on 127.0.0.1", port))
	require.ErrorContains(t, err, fmt.Sprintf("--port %d", port+1), "the next command to type")

	s, err := server.Start(server.Options{Dir: dir, Port: -1})
	require.NoError(t, err, "and the lock was given back")
	s.Shutdown()
}

func TestADirectoryInUseNamesItsHolder(t *testing.T) {
	running := bustest.Start(t)
	dir := filepath.Dir(running.HubCreds())
	_, err := server.Start(server.Options{Dir: dir, Port: -1})
	require.ErrorContains(t, err, dir)
	require.ErrorContains(t, err, fmt.Sprintf("process %d", os.Getpid()))
	running.Restart(t)
}

func TestOptionsOfTheServerAreChecked(t *testing.T) {
	for want, o := range map[string]server.Options{
		"data directory":             {},
		`expected "interval" or`:     {Dir: "d", Durability: "sometimes"},
		"expected a DNS label":       {Dir: "d", Fleet: "Not a label"},
		"making the data directory:": {Dir: "/dev/null/x"},
	} {
		_, err := server.Start(o)
		require.ErrorContains(t, err, want)
	}
}

func TestStateOutlivesARestart(t *testing.T) {
	for _, durability := range []string{streams.DurabilityInterval, streams.DurabilityAlways} {
		t.Run(durability, func(t *testing.T) {
			server := bustest.Start(t, func(o *server.Options) { o.Durability = durability })
			leader := server.Lead(t)
			r := bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0), store.Put("schedule.b", bustest.Schedule("b", 1), 0))
			agent := server.Agent(t, "berlin")
			server.Restart(t)
			_, table := bustest.Schedules(t, server.Hub(t))
			require.Equal(t, map[string]int64{"a": 1, "b": 1}, bustest.Generations(table))
			_, revision, _ := table.Get("b")
			require.Equal(t, r[1], revision)
			bustest.Eventually(t, func() error { return agent.PutHeartbeat(t.Context(), api.Heartbeat{}) })
		})
	}
}

func TestTwoServersInOneProcess(t *testing.T) {
	one, two := bustest.Start(t), bustest.Start(t)
	require.NotEqual(t, one.URL(), two.URL())
	bustest.Write(t, one.Lead(t), store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	require.Empty(t, two.Lead(t).State.Keys("schedule."))
	o := one.TCP()
	o.Creds = two.OperatorCreds()
	_, err := bus.ConnectClient(t.Context(), o)
	require.ErrorIs(t, err, bus.ErrDenied)
	require.ErrorContains(t, err, "Authorization")
	require.ErrorContains(t, err, "operator.creds")
}

func TestAnInProcessConnection(t *testing.T) {
	server := bustest.Start(t)
	hub, err := bus.ConnectHub(t.Context(), server.Options())
	require.NoError(t, err)
	defer hub.Close()
	leader := bustest.Lead(t, hub, "hub-0", store.LeadOptions{})
	bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	inside := server.Options()
	inside.CredsText = bustest.AgentCreds(t, server.Server, "berlin")
	agent, err := member.Connect(t.Context(), inside, "berlin")
	require.NoError(t, err)
	defer agent.Close()
	require.NoError(t, agent.PutHeartbeat(t.Context(), api.Heartbeat{}))
	client, err := bus.ConnectClient(t.Context(), server.Options())
	require.NoError(t, err)
	client.Close()
}

func TestAnInspectorLooksButDoesNotWrite(t *testing.T) {
	server := bustest.Start(t)
	leader := server.Lead(t)
	bustest.Write(t, leader, store.Put("schedule.a", bustest.Schedule("a", 1), 0))
	client := server.Inspector(t)
	_, table := bustest.Schedules(t, client)
	require.Equal(t, map[string]int64{"a": 1}, bustest.Generations(table))

	refusals := make(chan error, 8)
	client.NC.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refusals <- err })
	f := client.Fleet
	for _, subject := range []string{
		f.BucketSubject(subjects.State, "schedule.a"), f.Command("berlin", "placement"), f.BucketSubject(subjects.Heartbeat, "berlin"),
		"$JS.API.STREAM.DELETE." + f.BucketStream(subjects.State), "$JS.API.STREAM.PURGE." + f.BucketStream(subjects.State),
	} {
		require.NoError(t, client.NC.Publish(subject, []byte("{}")))
		require.ErrorContains(t, bustest.Within(t, refusals, subject), "Permissions Violation", subject)
	}
}

// Servers take a line of 4 KiB from a client before they know it, unless told otherwise.
func TestCredentialsFitTheLineOfAServer(t *testing.T) {
	server := bustest.Start(t)
	for _, path := range []string{server.OperatorCreds(), server.HubCreds(), server.InspectorCreds()} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		token, err := jwt.ParseDecoratedJWT(text)
		require.NoError(t, err)
		require.Less(t, len(token), 3<<10, path)
	}
}

func TestSecretsAreForTheirOwnerOnly(t *testing.T) {
	server := bustest.Start(t)
	dir := filepath.Dir(server.HubCreds())
	for _, name := range []string{"keys.json", "hub.creds", "operator.creds", "inspector.creds", "lock"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
}

func TestCredentialsOfAnAgentHoldNoPermissionsOfTheirOwn(t *testing.T) {
	running := bustest.Start(t)
	creds := bustest.AgentCreds(t, running.Server, "berlin")
	token, err := jwt.ParseDecoratedJWT(creds)
	require.NoError(t, err)
	claims, err := jwt.DecodeUserClaims(token)
	require.NoError(t, err)
	require.Equal(t, "berlin", claims.Name)
	require.True(t, claims.HasEmptyPermissions(), "the scoped key gives them")
	_, _, err = running.Issuer().Sign(subjects.RoleAgent, "*", claims.Subject, 0)
	require.ErrorContains(t, err, "expected a DNS label")

	seed, err := nkeys.CreateAccount()
	require.NoError(t, err)
	text, err := seed.Seed()
	require.NoError(t, err)
	issuer, err := server.NewIssuer(subjects.Fleet{Name: bustest.Fleet}, claims.IssuerAccount, text)
	require.NoError(t, err)
	forged, _, err := issuer.Sign(subjects.RoleAgent, "berlin", claims.Subject, 0)
	require.NoError(t, err)
	user, err := jwt.ParseDecoratedUserNKey(creds)
	require.NoError(t, err)
	_, err = nats.Connect(running.URL(), nats.UserJWT(func() (string, error) { return forged, nil }, user.Sign))
	require.ErrorContains(t, err, "Authorization Violation", "a key the account does not know")
	_, err = server.NewIssuer(subjects.Fleet{Name: bustest.Fleet}, "nonsense", text)
	require.ErrorContains(t, err, "begins with A")
}

func TestConnectionsAreNamedAndMonitored(t *testing.T) {
	server := bustest.Start(t, func(o *server.Options) { o.HTTPPort = -1 })
	o := server.TCP()
	o.Name = "hub-7"
	hub, err := bus.ConnectHub(t.Context(), o)
	require.NoError(t, err)
	defer hub.Close()
	o = server.AgentOptions(t, "berlin")
	o.Version = "1.2.3"
	agent, err := member.Connect(t.Context(), o, "berlin")
	require.NoError(t, err)
	defer agent.Close()
	client := server.Client(t)
	require.Equal(t, "flotilla-cli/user", client.NC.Opts.Name)
	bustest.Eventually(t, func() error {
		answer, err := http.Get(server.Monitoring() + "/connz")
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		var found struct {
			Connections []struct {
				Name string `json:"name"`
			} `json:"connections"`
		}
		if err := json.NewDecoder(answer.Body).Decode(&found); err != nil {
			return err
		}
		names := fmt.Sprint(found.Connections)
		for _, want := range []string{"flotilla-hub/hub-7", "flotilla-agent/berlin/1.2.3", "flotilla-cli/user"} {
			if !strings.Contains(names, want) {
				return fmt.Errorf("%s is not in %s", want, names)
			}
		}
		return nil
	})
	http.DefaultClient.CloseIdleConnections()
}

func TestLameDuck(t *testing.T) {
	server := bustest.Start(t, func(o *server.Options) { o.LameDuck = 300 * time.Millisecond })
	warned := make(chan struct{}, 1)
	bustest.Raw(t, server, "berlin", nats.LameDuckModeHandler(func(*nats.Conn) { warned <- struct{}{} }))
	done := make(chan struct{})
	go func() { server.LameDuckShutdown(); close(done) }()
	bustest.Within(t, warned, "clients are told")
	bustest.Within(t, done, "the server stops")
	server.Restart(t)
}

func TestWhereToConnect(t *testing.T) {
	server := bustest.Start(t)
	home := t.TempDir()
	contexts := filepath.Join(home, ".config", "nats", "context")
	require.NoError(t, os.MkdirAll(contexts, 0o700))
	text := fmt.Sprintf(`{"url":%q,"creds":%q,"inbox_prefix":"_INBOX_somebody"}`, server.URL(), server.OperatorCreds())
	require.NoError(t, os.WriteFile(filepath.Join(contexts, "prod.json"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(contexts, "nsc.json"), []byte(`{"url":"nats://x","nsc":"nsc://x"}`), 0o600))
	nowhere := "nats://127.0.0.1:1"
	for name, c := range map[string]struct {
		options bus.Options
		env     map[string]string
		err     string
	}{
		"a context":                           {options: bus.Options{Context: "prod"}},
		"a context wins over the URL":         {options: bus.Options{Context: "prod"}, env: map[string]string{"NATS_URL": nowhere}},
		"the environment's context":           {env: map[string]string{"NATS_CONTEXT": "prod"}},
		"the environment":                     {env: map[string]string{"NATS_URL": server.URL(), "NATS_CREDS": server.OperatorCreds()}},
		"an option wins over the environment": {options: bus.Options{URL: server.URL(), Creds: server.OperatorCreds()}, env: map[string]string{"NATS_URL": nowhere, "NATS_CREDS": "/none"}},
		"NATS_URL with a context's creds":     {env: map[string]string{"NATS_URL": nowhere, "NATS_CONTEXT": "prod"}, err: nowhere + " (NATS_URL)"},
		"no such context":                     {options: bus.Options{Context: "test"}, err: "contexts there: nsc, prod"},
		"nsc":                                 {options: bus.Options{Context: "nsc"}, err: "not supported"},
		"no such creds":                       {env: map[string]string{"NATS_URL": server.URL(), "NATS_CREDS": "/none"}, err: "flotilla member enrol"},
		"nobody there":                        {env: map[string]string{"NATS_URL": nowhere}, err: "go run ./hub --dev"},
		"creds that are none":                 {options: bus.Options{URL: server.URL(), Creds: filepath.Join(contexts, "prod.json")}, err: "found no user JWT and key"},
		"empty creds":                         {options: bus.Options{URL: server.URL(), Creds: os.DevNull}, err: "the file is empty"},
		"another scheme":                      {options: bus.Options{URL: "http://a"}, err: `URL "http://a" (given): found scheme "http"`},
		"a URL without a host":                {env: map[string]string{"NATS_URL": "nats://"}, err: `URL "nats://" (NATS_URL): expected nats://HOST:PORT`},
		"a password is not shown":             {options: bus.Options{URL: "nats://me:secret@127.0.0.1:1"}, err: "nats://me:xxxxx@127.0.0.1:1 (given)"},
		"no creds":                            {env: map[string]string{"NATS_URL": server.URL()}, err: "NATS_CREDS"},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Fleet = bustest.Fleet
			c.options.Getenv = func(name string) string {
				if name == "HOME" {
					return home
				}
				return c.env[name]
			}
			conn, err := bus.ConnectClient(t.Context(), c.options)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, server.URL(), conn.URL())
			conn.Close()
		})
	}
}
