package faults

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/tests/rig"
)

// interruptedVariable makes the test below one that stands still amid its campaigns.
const interruptedVariable = "FLOTILLA_FAULTS_INTERRUPTED"

// Campaigns that are interrupted print the table of those that ended, and leave neither processes nor files.
func TestInterruptedCampaignsAreReported(t *testing.T) {
	if os.Getenv(interruptedVariable) != "" {
		stand(t)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) { interrupt(t, signal) })
	}
}

// stand has one campaign over, and another under way.
func stand(t *testing.T) {
	t.Helper()
	campaigns.Add(results()[0])
	process := rig.Start(t, nil, "sleep", "1000")
	process.Stop(t)
	fmt.Println("stands", process.PID(), os.TempDir())
	<-t.Context().Done()
}

func interrupt(t *testing.T, signal syscall.Signal) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInterruptedCampaignsAreReported$")
	command.Env = append(os.Environ(), interruptedVariable+"=yes")
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	reader := bufio.NewReader(out)
	line, err := reader.ReadString('\n')
	require.NoError(t, err)
	words := strings.Fields(line)
	require.Equal(t, "stands", words[0], line)
	child, err := strconv.Atoi(words[1])
	require.NoError(t, err)
	require.DirExists(t, words[2])
	require.NoError(t, command.Process.Signal(signal))
	said, err := io.ReadAll(reader)
	require.NoError(t, err)
	var ended *exec.ExitError
	require.ErrorAs(t, command.Wait(), &ended)
	status, _ := ended.Sys().(syscall.WaitStatus)
	require.Equal(t, signal, status.Signal(), "it ends as it would have")
	require.Contains(t, string(said), "HELD: 1 campaigns in ")
	require.Contains(t, string(said), "kill hub")
	require.NoDirExists(t, words[2])
	bustest.Eventually(t, func() error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err == nil && !strings.Contains(string(stat), ") Z ") { // nobody may ask how it ended
			return fmt.Errorf("it is still there: %s", stat)
		}
		return nil
	})
}
