package brokers

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/tests/rig"
)

// section is what leads from one process to three hubs on three servers with an edge.
const section = "\n## From one process to three hubs on three servers\n"

// machines is a shell on the machines of the section, all of them folders of one.
type machines struct {
	*testing.T
	folder string // where lines are typed
	env    []string
	places *strings.Replacer // addresses
	// own are the folders of servers, in which the same paths are others.
	own map[string]string
}

// TestTheWayFromOneProcessToThree types each line of the section, in its order: what one process held goes on on
// three servers, with a member beside them and one behind a leaf node.
func TestTheWayFromOneProcessToThree(t *testing.T) {
	m := newMachines(t)
	port := bustest.FreePort(t)
	m.begin("hub --data one --port " + port)
	admin := filepath.Join(m.folder, "one", "operator.creds")
	m.env = append(m.env, "NATS_URL=nats://"+local(port), "NATS_CREDS="+admin)
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		_, err := os.Stat(admin)
		return err
	})
	m.reached(local(port))
	m.run("flotilla apply -f configs/examples/004-pickfixed.yaml")
	for _, line := range lines(t) {
		switch {
		case strings.HasPrefix(line, "export "):
			m.env = append(m.env, strings.TrimPrefix(m.places.Replace(line), "export "))
		case strings.Contains(line, "nats-server ") || strings.HasPrefix(line, "hub --") || strings.HasPrefix(line, "agent "):
			m.begin(line)
		case strings.HasPrefix(line, "cp configs/"):
			m.copied(line)
		default:
			m.run(line)
		}
	}
	require.Regexp(t, `(?s)bergen +Ready.*oslo +Ready`, m.run("flotilla get members"))
	require.Contains(t, m.run("flotilla get placements"), "crp-fixed", "what the one process held is there")
	require.Contains(t, m.run("flotilla status"), "2 Ready")
}

// lines are those of the section.
func lines(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), section)
	require.True(t, found)
	rest, _, _ = strings.Cut(rest, "\n## ")
	var all []string
	for _, part := range strings.Split(rest, "```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, "  #")
			all = append(all, strings.TrimSpace(line))
		}
	}
	require.Greater(t, len(all), 15)
	return all
}

func newMachines(t *testing.T) *machines {
	t.Helper()
	m := &machines{T: t, folder: t.TempDir(), own: map[string]string{}}
	programs := filepath.Join(m.folder, "bin")
	require.NoError(t, rig.Build(programs+"/", nil, "flotilla/hub", "flotilla/agent", "flotilla/hub/flotilla", "github.com/nats-io/nats-server/v2"))
	configs, err := filepath.Abs("../../configs")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(configs, filepath.Join(m.folder, "configs")))
	m.env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "FLOTILLA_FLEET=", "NATS_CONTEXT="}
	var places []string
	for _, host := range []string{"n1", "n2", "n3", "edge"} {
		m.own[host] = t.TempDir()
		for _, port := range []string{"4222", "6222", "7422"} {
			places = append(places, "nats://"+host+":"+port, "nats://"+local(bustest.FreePort(t)))
		}
	}
	m.places = strings.NewReplacer(places...)
	return m
}

// at is a line or a file as it stands on a machine.
func (m *machines) at(host, text string) string {
	at := func(port string) string {
		return strings.TrimPrefix(m.places.Replace("nats://"+host+":"+port), "nats://")
	}
	own := strings.NewReplacer("/etc/nats", m.own[host], "/var/lib/nats", filepath.Join(m.own[host], "data"),
		"0.0.0.0:4222", at("4222"), "0.0.0.0:6222", at("6222"), "0.0.0.0:7422", at("7422"), "127.0.0.1:8222", local("-1"))
	return m.places.Replace(own.Replace(text))
}

// copied copies configurations on each machine that has a folder for them, and gives them the addresses of the test.
func (m *machines) copied(line string) {
	m.Helper()
	hosts := []string{"edge"}
	if strings.Contains(line, "/etc/nats") {
		hosts = []string{"n1", "n2", "n3"}
	}
	for _, host := range hosts {
		m.run(m.at(host, line))
		folder := m.own[host]
		if host == "edge" {
			folder = filepath.Join(m.folder, host)
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.conf"))
		require.NoError(m, err)
		require.NotEmpty(m, files, line)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(m, err)
			require.NoError(m, os.WriteFile(file, []byte(m.at(host, string(text))), 0o600))
		}
	}
}

// begin types a line that goes on until the end of the test, and waits until servers can be reached.
func (m *machines) begin(line string) {
	m.Helper()
	host := "edge"
	for _, name := range []string{"n1", "n2", "n3"} {
		if strings.HasSuffix(line, "/"+name+".conf") {
			host = name
		}
	}
	command := m.at(host, line)
	if !strings.HasPrefix(command, "cd ") {
		command = "exec " + command
	}
	rig.Start(m, m.env, "/bin/sh", "-c", "cd "+m.folder+" && "+command)
	if strings.Contains(line, "nats-server ") {
		m.reached(strings.TrimPrefix(m.places.Replace("nats://"+host+":4222"), "nats://"))
	}
}

// reached waits until a server listens.
func (m *machines) reached(address string) {
	m.Helper()
	bustest.EventuallyIn(m, 30*time.Second, func() error {
		c, err := net.Dial("tcp", address)
		if err == nil {
			err = c.Close()
		}
		return err
	})
}

// run types a line that ends.
func (m *machines) run(line string) string {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), 2*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-c", m.places.Replace(line))
	shell.Dir, shell.Env = m.folder, append(os.Environ(), m.env...)
	out, err := shell.CombinedOutput()
	require.NoError(m, err, "$ %s\n%s", line, out)
	return string(out)
}
