package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/configs"
	"flotilla/configs/secrets"
	"flotilla/hub/hubd"
	"flotilla/tests/elsewhen"
)

func serverOf(t *testing.T, args ...string) *server.Options {
	t.Helper()
	c := command()
	require.NoError(t, c.ParseFlags(args))
	config := configs.DefaultHub()
	config.Dev, _ = c.Flags().GetBool("dev")
	config.Bus.URL, _ = c.Flags().GetString("url")
	return options(&config, zerolog.Nop(), environment(c)).Server
}

func TestTheEnvironmentNamesTheServersUnlessAFlagAsksForAnOwnOne(t *testing.T) {
	t.Setenv("NATS_CONTEXT", "")
	t.Setenv("NATS_URL", "")
	require.NotNil(t, serverOf(t))
	t.Setenv("NATS_URL", "nats://a:4222")
	require.Nil(t, serverOf(t))
	for _, own := range []string{"--dev", "--data=/tmp/x", "--host=0.0.0.0", "--port=0"} {
		require.NotNil(t, serverOf(t, own), own)
	}
	require.Nil(t, serverOf(t, "--data=/tmp/x", "--url=nats://b:4222"))
}

func TestFlagsAboutAnOwnServerAreRefusedBesideServersOfOthers(t *testing.T) {
	file := t.TempDir() + "/hub.yaml"
	require.NoError(t, os.WriteFile(file, []byte("bus: {url: nats://b:4222}\n"), 0o600))
	loaded := func(file string, args ...string) error {
		c := command()
		require.NoError(t, c.ParseFlags(args))
		config := configs.DefaultHub()
		config.Bus.URL, _ = c.Flags().GetString("url")
		config.Dev, _ = c.Flags().GetBool("dev")
		return load(c, file, &config)
	}
	require.EqualError(t, loaded("", "--url=nats://b:4222", "--port=4333"),
		"found --port beside --url, expected one of them: a hub that uses servers which others run has none of its own")
	require.ErrorContains(t, loaded(file, "--host=0.0.0.0"), "found --host beside the configuration's bus")
	require.ErrorContains(t, loaded("", "--url=nats://b:4222", "--data=/tmp/x"), "found --data beside --url")
	require.NoError(t, loaded("", "--url=nats://b:4222", "--data=/tmp/x", "--dev"))
	require.NoError(t, loaded("", "--port=4333"))
}

// Who starts a hub in a shell that is set up for the command line is told what the hub made of that.
func TestAHubThatTheEnvironmentSendsElsewhereSaysSo(t *testing.T) {
	t.Setenv("NATS_CONTEXT", "")
	t.Setenv("NATS_URL", "nats://127.0.0.1:1")
	t.Setenv("NATS_CREDS", t.TempDir()+"/operator.creds")
	start := func(args ...string) error {
		c := command()
		c.SetArgs(args)
		return c.ExecuteContext(t.Context())
	}
	const hint = "unset them for a server of its own in flotilla-data, or name it with --data"
	require.ErrorContains(t, start(), hint)
	err := start("--url=nats://127.0.0.1:1")
	require.ErrorContains(t, err, "operator.creds")
	require.NotContains(t, err.Error(), hint, "a flag named the server")
}

func TestAHubWithItsOwnServerSaysHowToReachIt(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // it starts, says so, and stops
	var out bytes.Buffer
	o := hubd.Options{Now: elsewhen.Now, Fleet: "shop", Log: zerolog.Nop(), Server: &server.Options{Dir: dir, Host: "0.0.0.0", Port: -1, TLS: server.TLS{SelfSigned: true}}}
	hub, err := hubd.New(o)
	require.NoError(t, err)
	require.NoError(t, hub.Start(t.Context()))
	require.NoError(t, serve(ctx, hub, "shop", &out))
	for _, want := range []string{
		"export NATS_URL=tls://127.0.0.1:", "export NATS_CA=" + dir + "/tls/ca.pem\n", "export NATS_CREDS=" + dir + "/operator.creds\n", "export FLOTILLA_FLEET=shop\n",
		"member enrol berlin > berlin.token", "--token @berlin.token\n", "member admit berlin",
	} {
		require.Contains(t, out.String(), want)
	}
}

func TestAHubSaysAtItsStartThatItExpectsHeartbeatsTooOften(t *testing.T) {
	t.Setenv("NATS_CONTEXT", "")
	t.Setenv("NATS_URL", "")
	for timeout, told := range map[string]bool{"20s": true, "30s": false} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // it starts, says so, and stops
		var log bytes.Buffer
		c := command()
		c.SetErr(&log)
		c.SetOut(&bytes.Buffer{})
		c.SetArgs([]string{"--data=" + t.TempDir(), "--port=0", "--member-timeout=" + timeout})
		_ = c.ExecuteContext(ctx) // interrupted before or after it is ready
		require.Equal(t, told, strings.Contains(log.String(), "a --member-timeout of 30s or more"), log.String())
	}
	c := command()
	c.SetArgs([]string{"--data=" + t.TempDir(), "--member-timeout=1s"})
	require.ErrorContains(t, c.ExecuteContext(t.Context()), `memberTimeout: found "1s", expected a duration from 2s`)
}

func TestAHubOnServersThatOthersRunIsSilentOnStandardOutput(t *testing.T) {
	server := bustest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	hub, err := hubd.New(hubd.Options{Fleet: bustest.Fleet, Log: zerolog.Nop(), Bus: server.TCP(), Secrets: secrets.Source{Text: bustest.Secrets}})
	require.NoError(t, err)
	require.NoError(t, hub.Start(ctx))
	cancel()
	var out bytes.Buffer
	require.NoError(t, serve(ctx, hub, bustest.Fleet, &out))
	require.Empty(t, out.String())
}

func TestAMistypedFlagIsSuggested(t *testing.T) {
	c := command()
	c.SetArgs([]string{"--durabilty", "always"})
	require.EqualError(t, c.Execute(), "unknown flag: --durabilty, did you mean --durability? See hub --help")
}

func TestAccountsAreMadeAndNamed(t *testing.T) {
	dir := t.TempDir() + "/accounts"
	said := func(args ...string) (string, error) {
		var out bytes.Buffer
		c := command()
		c.SetOut(&out)
		c.SetArgs(append([]string{"accounts"}, args...))
		err := c.Execute()
		return out.String(), err
	}
	text, err := said("--out", dir, "--fleet", "shop")
	require.NoError(t, err)
	for _, want := range []string{dir + "/accounts.conf ", " servers ", dir + "/keys.json ", " hubs ", dir + "/offline/HUB.nk "} {
		require.Contains(t, text, want)
	}
	edge := t.TempDir() + "/edge"
	text, err = said("leaf", "edge", "--accounts", dir, "--url", "nats://n1:7422", "--member", "oslo", "--out", edge)
	require.NoError(t, err)
	require.Contains(t, text, edge+"/remotes.conf ")
	_, err = said("leaf", "edge", "--url", "nats://n1:7422", "--member", "oslo")
	require.EqualError(t, err, "found no --accounts or no --out, expected both: the folder of hub accounts, and one to write to")
	_, err = said("--out", dir)
	require.ErrorContains(t, err, "keys are never overwritten")
	_, err = said()
	require.EqualError(t, err, "found no --out, expected a folder to write to: hub accounts --out accounts")
	_, err = said("--outt", dir)
	require.ErrorContains(t, err, "did you mean --out?")
}

func TestAccountsNeedServersThatOthersRun(t *testing.T) {
	t.Setenv("NATS_CONTEXT", "")
	t.Setenv("NATS_URL", "")
	c := command()
	c.SetArgs([]string{"--data=" + t.TempDir(), "--accounts=accounts"})
	require.EqualError(t, c.ExecuteContext(t.Context()), "found --accounts without servers that others run, expected both: name them with --url, or NATS_URL")
	c = command()
	c.SetArgs([]string{"--url=nats://127.0.0.1:1", "--accounts=" + t.TempDir()})
	require.ErrorContains(t, c.ExecuteContext(t.Context()), "`hub accounts --out ")
}
