//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/e2e/binaries"
	"flotilla/tests/e2e/lab"
)

// holder is set, to where the programs are, where the test binary is to start a lab and to hold it.
const holder = "FLOTILLA_E2E_HOLDER"

// hold starts a lab of one cluster, says where, and waits.
func hold() {
	l, err := lab.Start(context.Background(), lab.Options{
		Binaries: binaries.Set{Folder: os.Getenv(holder)}, Clusters: []string{"held"}, Nodes: 1,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Folder(), strings.TrimPrefix(l.Cluster("held").Server(), "https://"))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// TestNothingIsLeftOfALabThatWasKilled kills the process that holds a lab, which can then clean up nothing itself.
func TestNothingIsLeftOfALabThatWasKilled(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), holder+"="+programs.Folder)
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	defer func() { _ = stdin.Close() }()
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	held, server, _ := strings.Cut(strings.TrimSpace(line), " ")
	addresses := map[string]string{"tcp": server, "unix": filepath.Join(held, "etcd.sock")}
	for network, address := range addresses {
		require.NoError(t, lab.Dial(t.Context(), network, address))
	}
	require.NoError(t, command.Process.Kill())
	require.Error(t, command.Wait())
	for network, address := range addresses {
		eventually(t, func(ctx context.Context) error {
			if err := lab.Dial(ctx, network, address); !errors.Is(err, syscall.ECONNREFUSED) {
				return fmt.Errorf("%s: found %w, expected nobody to listen", address, err)
			}
			return nil
		})
	}
	require.DirExists(t, held)
	next, err := lab.Start(t.Context(), lab.Options{Binaries: programs})
	require.NoError(t, err)
	require.NoError(t, next.Stop())
	require.NoDirExists(t, held, "the next lab sweeps it")
	require.NoDirExists(t, next.Folder())
}
